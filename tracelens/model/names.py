"""Questions put to interned names: each distinct name is asked once, however many events bear it.

Generated names count up ("triton_poi_fused_add_12"): what no number at the end changes is asked of one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Bools, Int64s, Trace
from tracelens.model.once import once

_DIGITS: Final = "0123456789"


def distinct_codes(codes: npt.NDArray[np.integer], count: int) -> tuple[Int64s, Int64s]:
    """The distinct ones of (n) codes, all below `count`, ascending, and the index (n) of each code among them.

    What np.unique does by sorting, in linear time."""
    distinct = _distinct(codes, count)
    index = np.zeros(count, dtype=np.int64)
    index[distinct] = np.arange(len(distinct))
    return distinct, index[codes]


def tell_names(
    trace: Trace, rows: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike = object
) -> npt.NDArray[Any]:
    """`tell` of the name of each event in `rows`."""
    codes = trace.events.name[rows]
    return _told(trace, codes, tell, dtype).take(codes)


def tell_alike(
    trace: Trace, rows: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike = object
) -> npt.NDArray[Any]:
    """`tell` of the name of each event in `rows`, where no number at a name's end changes the answer."""
    codes = trace.events.name[rows]
    names = _distinct(codes, len(trace.names))
    stems = alike(trace)[names]
    told = _told(trace, stems, tell, dtype)
    told[names] = told[stems]
    return told.take(codes)


def _told(
    trace: Trace, codes: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """`tell` of the trace's names, of those that are among the codes."""
    asked = _distinct(codes, len(trace.names))
    told = np.empty(len(trace.names), dtype=dtype)
    told[asked] = [tell(trace.names[name]) for name in map(int, asked)]
    return told


def _distinct(codes: npt.NDArray[np.integer], count: int) -> Int64s:
    """The distinct ones of codes that are all below `count`, ascending."""
    return np.flatnonzero(np.bincount(codes, minlength=count))


@once
def alike(trace: Trace) -> Int64s:
    """For each of the trace's names the first one that differs from it, if at all, in the number at its end."""
    first: dict[str, int] = {}
    # Without a function for the stem, whose call would take as long as all else: there may be as many names as events.
    found = [
        first.setdefault(name if (stem := name.rstrip(_DIGITS)) == name else f"{stem}0", number)
        for number, name in enumerate(trace.names)
    ]
    return np.array(found, dtype=np.int64)


def names_of(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names of the events in `rows`."""
    return tell_names(trace, rows, lambda name: name)


def named(trace: Trace, rows: npt.NDArray[np.integer], pattern: re.Pattern[str]) -> Bools:
    """Mask over `rows`: the pattern, which asks for no certain number at the end, is found in the event's name."""
    return tell_alike(trace, rows, lambda name: pattern.search(name) is not None, np.bool_)
