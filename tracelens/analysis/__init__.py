"""Trace and window to frozen results: steps, attribution, gaps, tables, trust."""

from tracelens.analysis.analysis import analyze

__all__ = ["analyze"]
