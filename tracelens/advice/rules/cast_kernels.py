"""Much of the device time converts between element types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, per_step_ms, severity
from tracelens.advice.step.often import a_step
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category
from tracelens.model.units import counted, percent

CAST: Final = re.compile(r"^aten::(to|_to_copy|_autocast_to_reduced_precision|_autocast_to_full_precision)$")
SHARE: Final = 0.1
"""Share of the kernel time in conversions. [judgement; 30 % seen under autocast]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on kernels launched by conversions; copies without arithmetic (memcpy) are none."""
    del forms
    rows = evidence.work(analysis, Category.KERNEL)
    whole = int(analysis.trace.events.duration[rows].sum())
    casts = rows[evidence.under(analysis, rows, CAST)] if whole else rows
    ns = int(analysis.trace.events.duration[casts].sum())
    if not whole or ns < SHARE * whole:
        return None
    each = round(len(casts) / max(len(analysis.window.tiles), 1))
    return Finding(
        RULE.id,
        severity(ns / whole),
        f"{percent(ns / whole)} of the device time converts element types: {counted(each, 'kernel')} "
        f"{a_step(analysis)}",
        per_step_ms(analysis, ns),
        evidence.handles(analysis, "k", evidence.longest(analysis, casts)),
        "Keep weights and activations in the type that the step computes in, or compile: fused, a cast is free. Replay "
        "alone repeats every cast, and turns autocast's cache of cast weights off.",
    )


RULE: Final = Rule(
    "cast_kernels",
    "Conversions of element types",
    "Autocast converts weights and inputs before each matrix product. A replayed step converts them at every replay: "
    "the launches are gone, the kernels are not. The saving is their time.",
    "https://pytorch.org/docs/stable/amp.html",
    check,
    fix="drop the casts",
    less_work=True,
)
