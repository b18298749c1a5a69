"""Pauses of the host that may be work of its own or dispatch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.advice.step.outside import LONG, UNCLEAR, find_outside, unclear_stretches
from tracelens.analysis.results import Analysis
from tracelens.model.units import NS_PER_MS, duration, durations

SHARE: Final = 0.05
"""Share of a predicted time from which what its range holds on top is worth a word. [judgement: where a finding is a
warning]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where every step has stretches without an operator that may be dispatch or not, and they widen a range."""
    unclear = find_outside(analysis).unclear
    wider = [name for name, form in forms.items() if _is_wider(form, unclear)]
    if not wider:
        return None
    found, (*others, last) = unclear_stretches(analysis), wider
    take = f"{', '.join(others)} and {last} then take" if others else f"{last} then takes"
    return Finding(
        RULE.id,
        "info",
        f"Ranges are wider: stretches of {durations(UNCLEAR, LONG)} without an operator, {duration(round(unclear))} a "
        f"step, may be work of the host that stays; {take} as much longer",
        None,
        evidence.gaps_at(analysis, found[:, 0]),
        "See what the host does there (tracelens show, a trace with_stack=True); work of its own goes out of the step.",
    )


def _is_wider(form: Form, unclear: float) -> bool:
    """Whether a predicted time has the stretches on top at its high end, and they are much of it."""
    if form.source != "predicted" or form.step_ms is None or form.terms is None:
        return False
    return "unclear_ns" in form.terms.values and unclear > SHARE * NS_PER_MS * form.step_ms


RULE: Final = Rule(
    "unclear_pauses",
    "Pauses that may be work of the host",
    "An operator takes the host 5 to 50 us, and steps without work of their own have stretches without any of up to "
    "463 us. Where every step has one of that length nothing tells whether a graph would be rid of it, so the "
    "predicted times leave it out and their ranges hold it.",
    "https://docs.pytorch.org/docs/stable/profiler.html",
    check,
)
