"""Trace and window to frozen results: steps, attribution, gaps, tables, trust."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "analyze":
        from tracelens.analysis.analysis import analyze

        return analyze
    raise AttributeError(name)
