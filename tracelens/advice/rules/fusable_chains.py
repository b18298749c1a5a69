"""Kernels that only move memory and could be fused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, Rule, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

KINDS: Final = ("pointwise", "reduction", "copy")
SHARE: Final = 0.3
"""Share of the kernel time in fusable kernels of eager PyTorch. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when much of the device time is pointwise, reduction and copy kernels; saves what fusion would."""
    kernels = analysis.kernels
    whole = float(kernels["total_ns"].sum()) if len(kernels) else 0.0
    if not whole:
        return None
    fusable = kernels[kernels["kind"].isin(KINDS) & (kernels["origin"] == "eager")]
    share = float(fusable["total_ns"].sum()) / whole
    if share < SHARE:
        return None
    replay, both = forms["replay"].step_ms, forms["both"].step_ms
    saving = max(replay - both, 0.0) if replay is not None and both is not None else None
    return Finding(
        RULE.id,
        severity(share),
        f"{percent(share)} of the device time is in kernels that torch.compile can fuse",
        saving,
        tuple(fusable["example"].dropna().head(EVIDENCE)),
        "Compile the region: chains of pointwise operators and normalisations become one pass over memory.",
    )


RULE: Final = Rule(
    "fusable_chains",
    "Fusable chains",
    "Each pointwise kernel reads and writes its tensors once; fused, a chain does so once in all. The saving is "
    "replay's time less that of compiled and replayed.",
    "https://pytorch.org/docs/stable/torch.compiler.html",
    check,
)
