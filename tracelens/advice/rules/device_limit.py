"""The device is busy with library kernels: no form of the step helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, Rule
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

KINDS: Final = ("gemm", "convolution", "attention")
BUSY: Final = 0.9
"""Share of the window in which kernels run. [judgement]"""
LIBRARY: Final = 0.7
"""Share of the kernel time in matrix products, convolutions and attention. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a busy device whose time is mostly in library kernels."""
    del forms
    kernels = analysis.tables["kernels"]
    whole = float(kernels["total_ns"].sum())
    if not whole or analysis.attribution.share("kernel") < BUSY:
        return None
    library = kernels.only("kind", *KINDS)
    share = float(library["total_ns"].sum()) / whole
    if share < LIBRARY:
        return None
    return Finding(
        RULE.id,
        "info",
        f"The device is busy, {percent(share)} of it with matrix products, convolutions and attention",
        None,
        tuple(library.first(EVIDENCE)["example"]),
        "Lower precision (bf16, TF32, fp8), smaller or better shaped work, or mode='max-autotune'; not launches.",
    )


RULE: Final = Rule(
    "device_limit",
    "Bound by library kernels",
    "Library kernels stay as they are under torch.compile and under replay; only less or cheaper arithmetic helps.",
    "https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices",
    check,
    fix="only cheaper arithmetic helps",
)
