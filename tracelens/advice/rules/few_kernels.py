"""The step is too small for a compiler or a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, Rule
from tracelens.model.events import DEVICE_WORK
from tracelens.model.units import counted

if TYPE_CHECKING:
    from tracelens.analysis.results import Analysis

FEW: Final = 2.0
"""Kernels a step. [one or two: 8.6 us eagerly, 12 compiled, 27 as a compiler's graph]"""
LONG_STEP: Final = 1.0
"""ms of a step above which its few kernels are large, and the rule says nothing. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a short eager step of one or two kernels."""
    rows = evidence.work(analysis, *DEVICE_WORK)
    kernels = len(rows) / max(len(analysis.window.tiles), 1)
    step = forms["eager"].step_ms
    if not 0 < kernels <= FEW or analysis.form != "eager" or step is None or step > LONG_STEP:
        return None
    return Finding(
        RULE.id,
        "info",
        f"The step is {counted(round(kernels), 'kernel')}: entering compiled code or a graph costs about as much as it "
        "saves",
        None,
        tuple(analysis.kernels["example"].dropna().head(EVIDENCE)),
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
)
