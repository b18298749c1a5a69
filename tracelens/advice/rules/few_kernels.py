"""The step is too small for a compiler or a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.forms.verdict import choose
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import DEVICE_WORK
from tracelens.model.units import counted

FEW: Final = 2.0
"""Kernels a step. [one or two: 8.6 us eagerly, 12 compiled, 27 as a compiler's graph]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on an eager step of one or two kernels that no form makes faster; a unit found by its repetition may be a
    part of one."""
    if analysis.window.kind == "period" or forms["eager"].step_ms is None:
        return None
    rows = evidence.work(analysis, *DEVICE_WORK)
    kernels = len(rows) / max(len(analysis.window.tiles), 1)
    if not 0 < kernels <= FEW or analysis.form != "eager" or choose(forms) != "eager":
        return None
    return Finding(
        RULE.id,
        "info",
        f"The step is {counted(round(kernels), 'kernel')}: entering compiled code or a graph costs about as much as it "
        "saves",
        None,
        tuple(analysis.tables["kernels"].first(EVIDENCE)["example"]),
        "Judge a larger part of the program: put what comes before and after into the step, then compile or capture "
        "that.",
    )


RULE: Final = Rule(
    "few_kernels",
    "Too small a region",
    "Guards, wrappers and a graph launch cost tens of microseconds whatever they cover, as much as launching a few "
    "kernels. A chain of pointwise operators is worth compiling only in a region that holds more than that.",
    "https://pytorch.org/docs/stable/torch.compiler_faq.html",
    check,
    compares=True,
)
