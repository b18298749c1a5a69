"""The optimizer launches kernels one tensor at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, host_saving_ms, severity
from tracelens.advice.step.often import a_step
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category
from tracelens.model.names import named
from tracelens.model.units import percent

OPTIMIZER: Final = re.compile(r"^Optimizer\.step#")
BATCHED: Final = re.compile(r"multi_tensor|fused_?(adam|sgd|lamb)|FusedOptimizer", re.IGNORECASE)
MANY: Final = 50
"""Kernels a step that each serve one tensor; a batched optimizer launches about ten per 30 tensors. [judgement]"""
SHARE: Final = 0.03
"""Share of the window in which the device waits for them. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on many kernels of single tensors inside Optimizer.step while the device waits for the host."""
    rows = evidence.work(analysis, Category.KERNEL)
    rows = rows[evidence.under(analysis, rows, OPTIMIZER)]
    single = rows[~named(analysis.trace, rows, BATCHED)]
    each = len(single) / max(len(analysis.window.tiles), 1)
    if each < MANY:
        return None
    steps = evidence.spans(analysis, OPTIMIZER, (Category.ANNOTATION,))
    waiting = evidence.idle_ns(analysis, steps, *evidence.PREPARING)
    share = waiting / analysis.attribution.window_ns
    if share < SHARE:
        return None
    return Finding(
        RULE.id,
        severity(share),
        f"The optimizer launches {each:.0f} kernels {a_step(analysis)}, one tensor at a time, and the device waits for "
        f"them for {percent(share)} of the traced time",
        host_saving_ms(analysis, forms, waiting),
        evidence.handles(analysis, "k", single),
        "Give it fused=True, or foreach=True; with capturable=True it can be captured. Where it has neither, "
        "torch.compile(optimizer.step). An alpha or value passed as a tensor reads it on the host: pass a number.",
    )


RULE: Final = Rule(
    "optimizer_loop",
    "Optimizer without batching",
    "A loop over parameters launches several short kernels for each. Fused and foreach optimizers launch one for "
    "dozens of tensors. The saving, at most all idle time inside the optimizer, is a part of the step: three times as "
    "fast an optimizer may be 3 % of it.",
    "https://pytorch.org/docs/stable/optim.html#algorithms",
    check,
    fix="use a fused optimizer",
)
