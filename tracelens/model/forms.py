"""The forms in which a step can run."""

from __future__ import annotations

from typing import Final

FORMS: Final = ("eager", "compile", "replay", "both")
"""Simplest first."""
