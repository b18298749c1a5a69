"""Operators are recorded twice: a dispatch mode or a tensor subclass is active."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, Category
from tracelens.model.units import percent

SHARE: Final = 0.4
"""Share of operators that lie in one of the same name; a mode doubles all, which makes 50 %.
[at most 26 % in traces without one, of early profilers]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where many operators call themselves."""
    del forms
    trace = analysis.trace
    rows = evidence.in_steps(analysis, trace.events.category == Category.OPERATOR)
    if not len(rows):
        return None
    parent = trace.links.parent[rows]
    twice = rows[(parent != ABSENT) & (trace.events.name[parent] == trace.events.name[rows])]
    if len(twice) < SHARE * len(rows):
        return None
    return Finding(
        RULE.id,
        "info",
        f"{percent(len(twice) / len(rows))} of the operators are recorded inside one of the same name",
        None,
        evidence.handles(analysis, "o", twice),
        "Count launches, not operators. A TorchDispatchMode or tensor subclass (DTensor) dispatches each operator "
        "twice: on a host-bound step run without it, or compile what uses it.",
    )


RULE: Final = Rule(
    "doubled_operators",
    "Operators recorded twice",
    "Under a TorchDispatchMode each operator enters Python and is called once more from there. Counts by name double, "
    "and so does the host's work; device time does not.",
    "https://pytorch.org/docs/stable/torch.utils.html",
    check,
)
