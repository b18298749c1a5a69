"""Widgets that draw lines of their own, and send only what has changed."""
