"""Kernels that only move memory and could be fused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, Rule, per_step_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

KINDS: Final = ("pointwise", "reduction", "copy")
LEAST: Final = 0.03
"""Share of the best time without fusion that fusion must save. [what makes a form worth its trouble]"""
SHARE: Final = 0.3
"""Share of the kernel time in fusable kernels of eager PyTorch. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when much of the device time is pointwise, reduction and copy kernels, and fusing them makes some form
    faster than all without."""
    kernels = analysis.tables["kernels"]
    whole = float(kernels["total_ns"].sum())
    saving = _saving(forms)
    if not whole or saving is None:
        return None
    fusable = kernels.only("kind", *KINDS).only("origin", "eager")
    share = float(fusable["total_ns"].sum()) / whole
    if share < SHARE:
        return None
    return Finding(
        RULE.id,
        severity(share),
        f"{percent(share)} of the device time is in kernels that torch.compile can fuse",
        min(saving, per_step_ms(analysis, float(fusable["total_ns"].sum()))),
        tuple(fusable.first(EVIDENCE)["example"]),
        "Compile the region: chains of pointwise operators and normalisations become one pass over memory.",
    )


def _saving(forms: Mapping[str, Form]) -> float | None:
    """Ms by which the faster of compile and both beats eager and replay; None where it does not by LEAST."""
    times = {name: form.step_ms for name, form in forms.items() if form.step_ms is not None}
    fused = [times[name] for name in ("compile", "both") if name in times]
    plain = [times[name] for name in ("eager", "replay") if name in times]
    if not fused or not plain or min(fused) > (1 - LEAST) * min(plain):
        return None
    return min(plain) - min(fused)


RULE: Final = Rule(
    "fusable_chains",
    "Fusable chains",
    "Each pointwise kernel reads and writes its tensors once; fused, a chain does so once in all. The saving is "
    "the best time of eager and replay less that of compile and both, "
    "at most the time of the kernels.",
    "https://pytorch.org/docs/stable/torch.compiler.html",
    check,
)
