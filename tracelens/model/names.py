"""Questions put to interned names: each distinct name is asked once, however many events bear it.

Generated names count up ("triton_poi_fused_add_12"): what no number at the end changes is asked of one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracelens.model.distinct import distinct
from tracelens.model.events import Bools, Category, Int64s, Trace, among
from tracelens.model.masks import mask_of
from tracelens.model.once import once

_DIGITS: Final = "0123456789"


def tell_names(
    trace: Trace, rows: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike = object
) -> npt.NDArray[Any]:
    """`tell` of the name of each event in `rows`."""
    codes = trace.events.name.take(rows)
    return _told(trace, distinct(codes, len(trace.names)), tell, dtype).take(codes)


def tell_alike(
    trace: Trace, rows: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike = object
) -> npt.NDArray[Any]:
    """`tell` of the name of each event in `rows`, where no number at a name's end changes the answer."""
    return _tell_alike(trace, trace.events.name.take(rows), tell, dtype)


def _tell_alike(
    trace: Trace, codes: npt.NDArray[np.integer], tell: Callable[[str], Any], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    names, stems, asked = _stems_of(trace, codes)
    told = _told(trace, asked, tell, dtype)
    told[names] = told[stems]
    return told.take(codes)


def _told(trace: Trace, asked: Int64s, tell: Callable[[str], Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """`tell` of those of the trace's names that are asked for."""
    told = np.empty(len(trace.names), dtype=dtype)
    numbers: list[int] = asked.tolist()
    told[numbers] = [tell(trace.names[name]) for name in numbers]
    return told


def _stems_of(trace: Trace, codes: npt.NDArray[np.integer]) -> tuple[Int64s, Int64s, Int64s]:
    """Names, the first one that is alike to each, and these by themselves: of the names among the codes, or of those
    that events bear, whichever takes less to find."""
    if len(_borne(trace)[0]) < len(codes):
        return _borne(trace)
    return _with_stems(trace, distinct(codes, len(trace.names)))


def _with_stems(trace: Trace, names: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    stems = alike(trace)[names]
    return names, stems, distinct(stems, len(trace.names))


@once
def _borne(trace: Trace) -> tuple[Int64s, Int64s, Int64s]:
    """Of the names that events bear; others of the trace's names are of their arguments."""
    return _with_stems(trace, distinct(trace.events.name, len(trace.names)))


@once
def alike(trace: Trace) -> Int64s:
    """For each of the trace's names the first one that differs from it, if at all, in the number at its end."""
    first: dict[str, int] = {}
    # Without a function for the stem, whose call would take as long as all else: there may be as many names as events.
    found = [
        number if (stem := name.rstrip(_DIGITS)) == name else first.setdefault(stem, number)
        for number, name in enumerate(trace.names)
    ]
    return np.array(found, dtype=np.int64)


def names_of(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names of the events in `rows`."""
    return tell_names(trace, rows, lambda name: name)


def named(trace: Trace, rows: npt.NDArray[np.integer], pattern: re.Pattern[str]) -> Bools:
    """Mask over `rows`: the pattern, which asks for no certain number at the end, is found in the event's name."""
    return tell_alike(trace, rows, lambda name: pattern.search(name) is not None, np.bool_)


def bearing(trace: Trace, pattern: re.Pattern[str], *categories: Category) -> Bools:
    """(n) `named` of all the trace's events, or of those of some categories; others bear no such name."""
    if not categories:
        return _tell_alike(trace, trace.events.name, lambda name: pattern.search(name) is not None, np.bool_)
    rows = np.flatnonzero(among(trace.events.category, categories))
    return mask_of(rows[named(trace, rows, pattern)], len(trace.events))
