"""A debugger or a tracer slows the host down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category

TRACERS: Final = re.compile(r"(^|[/.])_?(pydevd|debugpy|coverage|viztracer|bdb)[\w.]*[/(:]|sys\.settrace")


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on Python frames of a debugger, a coverage tool or another tracer."""
    del forms
    rows = evidence.spans(analysis, TRACERS, (Category.PYTHON,))
    if not len(rows):
        return None
    frame = analysis.trace.names[int(analysis.trace.events.name[rows[0]])]
    return Finding(
        RULE.id,
        "warning",
        f"A debugger or tracer runs along: {frame}",
        None,
        (),
        "Record without it: it slows the host by tens of times and leaves the device as it is, so that any step looks "
        "host-bound.",
    )


RULE: Final = Rule(
    "debugger",
    "Debugger in the process",
    "Python calls a tracer at every line. Host times are then its own: an optimizer step of 6 ms was seen to take "
    "187 ms. Only traces with Python frames (with_stack=True) show it.",
    "https://docs.python.org/3/library/sys.html#sys.settrace",
    check,
    of_recording=True,
)
