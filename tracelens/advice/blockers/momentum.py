"""Momentum that a compiled optimizer makes for itself, in memory that the compiler's graphs overwrite."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.advice.results import Blocker
from tracelens.advice.step.region import Region
from tracelens.model.events import ABSENT, Category
from tracelens.model.names import bearing
from tracelens.model.nesting import nearest

STEP: Final = re.compile(r"^Optimizer\.step#SGD\.")
DECAY: Final = re.compile(r"^aten::(?:_foreach_)?mul_$")
"""What SGD does in place to its momentum alone; fused, it makes the momentum in a call that the compiler leaves."""


def made_momentum(region: Region) -> tuple[Blocker, ...]:
    """SGD's momentum, where the optimizer keeps any: it is the one of torch.optim that makes its state in the step
    itself, not in `_init_group`, which the compiler runs in eager.

    Made by a graph of reduce-overhead, it is overwritten by the next replay, which raises. [torch/optim/sgd.py; torch
    2.11, 8 of 8 steps whose first step ran under reduce-overhead; none of one that ran in eager before]"""
    trace = region.trace
    decays = np.flatnonzero(bearing(trace, DECAY, Category.OPERATOR))
    if not (nearest(trace.links.parent, decays, bearing(trace, STEP, Category.ANNOTATION)) != ABSENT).any():
        return ()
    message = "momentum of SGD that the first compiled step makes and the compiler's graphs overwrite"
    advice = "Run a step in eager before the first compiled one, or give SGD fused=True, so that no graph makes it."
    return (Blocker("momentum", f"{message} (seen with torch 2.11)", None, None, advice),)
