"""Tensors too large for offsets of 32 bits: eager goes through them in several launches, generated code in one.

[PyTorch's TensorIterator.can_use_32bit_indexing and with_32bit_indexing]"""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.advice.operators.sizes import Sizes
from tracelens.advice.step.before import before
from tracelens.model.events import ABSENT, Bools, Floats, Int64s

LARGEST_OFFSET: Final = 2**31 - 1
"""In bytes."""


def read_once(operator: Int64s, pointwise: Bools, sizes: Sizes[Floats]) -> tuple[Sizes[Floats], Floats]:
    """The sizes, of which the launches after an operator's first have no inputs of their own, and (n) in how many
    launches the operator of each piece of work goes through its tensors."""
    large = pointwise & (operator != ABSENT) & (sizes.bytes > LARGEST_OFFSET)
    again = large & before(large, False) & (operator == before(operator, ABSENT))
    run = np.cumsum(~again) - 1
    portions = np.bincount(run)[run].astype(np.float64) if len(run) else np.empty(0)
    return sizes._replace(inputs=np.where(again, 0.0, sizes.inputs)), portions
