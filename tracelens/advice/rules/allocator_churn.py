"""Device memory is allocated or freed inside steady steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.blockers.allocation import allocation_repair
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.lost_time import lost_time
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis

SHARE: Final = 0.02
"""Share of the window in allocation gaps. [traces with a working cache: 0]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when the device idles during cudaMalloc, cudaFree and their like."""
    return lost_time(
        analysis,
        forms,
        RULE.id,
        "dispatch.allocator",
        SHARE,
        "Device memory is allocated or freed for {share} of the traced time",
        allocation_repair(analysis),
    )


RULE: Final = Rule(
    "allocator_churn",
    "Allocator churn",
    "The caching allocator makes steady steps free of cudaMalloc and cudaFree, which block; calls in every step mean "
    "that the cache is emptied, fragmented or switched off.",
    "https://pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management",
    check,
    fix="stop allocating in the step",
)
