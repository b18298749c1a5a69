"""The host stands still now and then: garbage collection and the like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, host_saving_ms, severity
from tracelens.advice.step.outside import comes_back, steps_with, stretches
from tracelens.analysis.results import Analysis
from tracelens.analysis.typical import typical_steps
from tracelens.model.events import Category, Int64s
from tracelens.model.intervals import intersect, length, lengths, longest_first
from tracelens.model.units import counted, duration

PAUSE_NS: Final = 5_000_000
"""Time without any operator from which a rare stretch is a pause. [a full collection takes 100 to 430 ms in servers;
judgement for smaller heaps]"""
COLLECTOR: Final = re.compile(r"gc\.collect|built-in (function|method) collect")


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a long stretch without operators in fewer than half of several steps, and on a call of gc.collect.

    Without a saving where it holds steps up so long that no form's time is of them."""
    called = evidence.spans(analysis, COLLECTOR, (Category.PYTHON,))
    found = _collecting(analysis, called) if len(called) else _rare(analysis)
    if not len(found):
        return None
    by_length = longest_first(found)
    worst, steps = length(by_length[:1]), len(analysis.window.tiles)
    having = f"{steps_with(analysis, found)} of {counted(steps, 'step')}"
    what = "gc.collect runs in the step" if len(called) else "a pause as of garbage collection"
    return Finding(
        RULE.id,
        severity(length(found) / analysis.attribution.window_ns),
        f"The host stands still for up to {duration(worst)} in {having}: {what}",
        host_saving_ms(analysis, forms, length(found)) if typical_steps(analysis).all() else None,
        evidence.gaps_at(analysis, by_length[:, 0]),
        "Call gc.freeze() after warm-up, and gc.disable() in the loop with a gc.collect() every so many steps; with "
        "several ranks let all collect at the same step.",
    )


def _collecting(analysis: Analysis, called: Int64s) -> Int64s:
    """Idle time of the device while the collector runs."""
    return intersect(evidence.idle(analysis, "dispatch.python"), evidence.spent(analysis, called))


def _rare(analysis: Analysis) -> Int64s:
    """Long stretches without an operator, unless most steps have one."""
    found = stretches(analysis)
    found = found[lengths(found) >= PAUSE_NS]
    usual = comes_back(analysis, found)
    return found[:0] if usual else found


RULE: Final = Rule(
    "host_pause",
    "Pauses of the host",
    "A full collection walks all Python objects and often frees none. One step in many is late, all ranks that wait "
    "for it look busy, and the median hides it. The saving is the mean over the counted steps.",
    "https://docs.python.org/3/library/gc.html#gc.freeze",
    check,
    fix="find the pause",
    remains=True,
)
