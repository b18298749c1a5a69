"""How far a recording reaches, and what each of its devices ran."""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.loading.assemble import TOO_EARLY, UNTIMED
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace, among
from tracelens.model.intervals import length, union
from tracelens.model.masks import mask_of
from tracelens.model.once import once

ABSURD_FACTOR = 1.5
"""An event that ends later than this many recorded spans after the trace's base has a broken duration."""
MISPLACED: Final = (UNTIMED, TOO_EARLY)
"""Repairs that put events at the base of the trace, where they may not have been."""
_SURE = (Category.OPERATOR, Category.RUNTIME, Category.KERNEL, Category.COPY, Category.MEMSET, Category.SPAN)


def device_rows(trace: Trace, device: int) -> Int64s:
    """Rows of a device's work, in file order."""
    rows = _work(trace)
    return rows[trace.events.device[rows] == device]


@once
def _work(trace: Trace) -> Int64s:
    """Rows of the work of all devices."""
    return np.flatnonzero(trace.events.device_work())


def misplaced(trace: Trace) -> int:
    """How many events have no usable time."""
    return sum(repair.count for repair in trace.repairs if repair.kind in MISPLACED)


@once
def misplaced_work(trace: Trace) -> Bools:
    """(n) Device work that has none: it begins with the trace, before its launch."""
    events, launch = trace.events, trace.links.launch
    early = np.flatnonzero(events.device_work() & (events.start == 0) & (launch != ABSENT) & bool(misplaced(trace)))
    return mask_of(early[events.start[launch[early]] > 0], len(events))


def device_ids(trace: Trace) -> list[int]:
    """Devices that ran work, the busiest first (by the union of their streams)."""
    busy = busy_ns(trace)
    return sorted(busy, key=lambda device: (-busy[device], device))


@once
def busy_ns(trace: Trace) -> dict[int, int]:
    """How long each device that ran work ran anything, in ns."""
    events, rows = trace.events, np.flatnonzero(trace.events.device_work())
    rows = rows[np.argsort(events.device[rows], kind="stable")]
    ids, first = np.unique(events.device[rows], return_index=True)
    of_each = zip(ids.tolist(), np.split(rows, first)[1:], strict=True)
    return {id: length(union(events.start[part], events.end[part])) for id, part in of_each}


@once
def believable(trace: Trace) -> Bools:
    """Mask of complete events (n) but the profiler's own spans, without those of a broken duration.

    Annotations and Python frames that never ended may claim seconds in a trace of microseconds."""
    events = trace.events
    complete = events.complete()
    sure = complete & among(events.category, _SURE)
    sure = sure if sure.any() else complete
    last = ABSURD_FACTOR * int(events.end[sure].max(initial=0))
    return complete & (events.category != Category.SPAN) & (events.end <= last)


@once
def recorded_end(trace: Trace) -> int:
    """Last end of a believable event, in ns."""
    return int(trace.events.end[believable(trace)].max(initial=0))
