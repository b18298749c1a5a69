"""Questions put to interned names: each distinct name is asked once, however many events bear it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Bools, Int64s, Trace


def distinct_codes(codes: npt.NDArray[np.integer], count: int) -> tuple[Int64s, Int64s]:
    """The distinct ones of (n) codes, all below `count`, ascending, and the index (n) of each code among them.

    What np.unique does by sorting, in linear time."""
    seen = np.zeros(count, dtype=np.bool_)
    seen[codes] = True
    distinct = np.flatnonzero(seen)
    index = np.zeros(count, dtype=np.int64)
    index[distinct] = np.arange(len(distinct))
    return distinct, index[codes]


def tell_names(
    trace: Trace, rows: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike = object
) -> npt.NDArray[Any]:
    """`tell` of the name of each event in `rows`."""
    distinct, inverse = distinct_codes(trace.events.name[rows], len(trace.names))
    told = np.empty(len(distinct), dtype=dtype)
    told[:] = [tell(trace.names[name]) for name in map(int, distinct)]
    return told[inverse]


def names_of(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names of the events in `rows`."""
    return tell_names(trace, rows, str)


def named(trace: Trace, rows: npt.NDArray[np.integer], pattern: re.Pattern[str]) -> Bools:
    """Mask over `rows`: the pattern is found in the event's name."""
    return tell_names(trace, rows, lambda name: pattern.search(name) is not None, np.bool_)
