"""Trace and window to frozen results: steps, attribution, gaps, tables, trust."""

from tracelens.analysis.analysis import analyze
from tracelens.analysis.describe import describe

__all__ = ["analyze", "describe"]
