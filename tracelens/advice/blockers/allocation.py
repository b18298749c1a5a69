"""Why a step allocates device memory, and the repair: a pool that still grows, a cache that is emptied, or none."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, Role
from tracelens.model.names import named

FREE: Final = re.compile(r"Free")
FREES: Final = 10
"""Times a step frees memory and allocates again from which no cache keeps it: one is emptied rarely. [judgement]"""
EMPTIED: Final = "Remove torch.cuda.empty_cache() from the step; set expandable_segments:True if memory is fragmented."
GROWING: Final = (
    "Warm up longer, with the largest batch, before you record or capture: nothing is freed, so the caching "
    "allocator's pool still grows."
)
UNCACHED: Final = (
    "Unset PYTORCH_NO_CUDA_MEMORY_CACHING (or PYTORCH_NO_HIP_MEMORY_CACHING), so that the caching allocator, which is "
    "switched off, serves the step."
)


def allocation_repair(analysis: Analysis) -> str:
    """What to do about allocations in steady steps."""
    events = analysis.trace.events
    calls = np.flatnonzero((events.role == Role.ALLOC) & (analysis.steps.owner != ABSENT))
    calls = calls[np.argsort(events.start[calls], kind="stable")]
    frees = named(analysis.trace, calls, FREE)
    if not frees.any():
        return GROWING
    times = np.count_nonzero(frees & ~np.append(False, frees[:-1])[: len(frees)])
    return UNCACHED if times >= FREES * len(analysis.window.tiles) else EMPTIED
