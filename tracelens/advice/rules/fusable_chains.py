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
    fusable = kernels.only("kind", *KINDS).only("origin", "eager")
    ns = float(fusable["total_ns"].sum())
    if not whole or ns < SHARE * whole or not _pays(forms):
        return None
    saving = _saving(forms)
    return Finding(
        RULE.id,
        severity(ns / whole),
        f"{percent(ns / whole)} of the device time is in kernels that torch.compile can fuse",
        None if saving is None else min(saving, per_step_ms(analysis, ns)),
        tuple(fusable.first(EVIDENCE)["example"]),
        "Compile the region: chains of pointwise operators and normalisations become one pass over memory.",
    )


def _pays(forms: Mapping[str, Form]) -> bool:
    """Whether the faster of compile and both beats eager and replay by LEAST."""
    fused, plain = _times(forms, "compile", "both"), _times(forms, "eager", "replay")
    return bool(fused and plain) and min(fused) <= (1 - LEAST) * min(plain)


def _saving(forms: Mapping[str, Form]) -> float | None:
    """Ms between forms that differ by fusion alone: replay and both, else eager and compile; None where they do not
    tell."""
    for pair in (("replay", "both"), ("eager", "compile")):
        times = _times(forms, *pair)
        if len(times) == 2 and times[1] < times[0]:
            return times[0] - times[1]
    return None


def _times(forms: Mapping[str, Form], *names: str) -> list[float]:
    return [step for name in names if (step := forms[name].step_ms) is not None]


RULE: Final = Rule(
    "fusable_chains",
    "Fusable chains",
    "Each pointwise kernel reads and writes its tensors once; fused, a chain does so once in all. The saving is "
    "replay's time less that of both, else eager's less that of compile; at most the time of the kernels.",
    "https://pytorch.org/docs/stable/torch.compiler.html",
    check,
)
