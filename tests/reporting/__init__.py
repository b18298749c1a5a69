"""Tests of the report document and its renderings."""
