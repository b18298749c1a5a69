"""The distinct ones among numbers from 0 up: rows, lanes, names by their index.

By a mask over all that there may be: np.unique hashes or sorts, which takes up to a hundred times as long for many."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Int64s
from tracelens.model.masks import mask_of

_SPARSE: Final = 8
"""Among more numbers than so many for each that is given, sorting those is faster than a mask over all."""


def distinct(numbers: npt.NDArray[np.integer], count: int) -> Int64s:
    """The distinct ones of some numbers, all from 0 to below `count`, ascending."""
    return np.flatnonzero(mask_of(numbers, count))


def distinct_index(numbers: npt.NDArray[np.integer], count: int) -> tuple[Int64s, Int64s]:
    """The same, and the index of each of the (n) numbers among them."""
    if count > _SPARSE * len(numbers):
        found, index = np.unique(numbers, return_inverse=True)
        return found.astype(np.int64), index
    found, place = distinct(numbers, count), np.empty(count, dtype=np.int64)
    place[found] = np.arange(len(found))
    return found, place.take(numbers)
