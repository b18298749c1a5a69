"""The sync table: host calls that wait for the device, and what removing each would save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.analysis.handles import SYNC, rows_behind
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Steps, Timeline
from tracelens.analysis.table import Table
from tracelens.analysis.tables.columns import handle_column, name_column, place_column
from tracelens.model.events import ABSENT, Bools, Int64s, Trace
from tracelens.model.intervals import covered, inside, intersect, union

HOST_CLASSES: Final = ("sync", "dispatch", "launch")
"""Idle time that a host which runs ahead would hide."""


@dataclass(frozen=True, slots=True, eq=False)
class SyncCosts:
    """What waits cost, in ns; one entry for each."""

    busy: Int64s
    """Of the wait, while the device was busy."""
    low: Int64s
    """Its share of sync.wait and sync.refill in the window; together they are all of both."""
    high: Int64s
    """An upper bound: idle time in the window that a host which makes none of these waits would have hidden."""


def sync_table(trace: Trace, steps: Steps, timeline: Timeline) -> Table:
    """Blocking waits made in the counted steps, in start order; blocking copies are among them.

    By the call, not by tiles of time: where the device lags behind, the wait after the last step lies in a tile.
    Columns: handle, call, ns, busy_overlap_ns, saving_low_ns and saving_high_ns (see SyncCosts), operator, where,
    row."""
    events, waits = trace.events, own_waits(trace, steps)
    counted = steps.owner[waits] != ABSENT
    rows = waits[counted]
    costs = sync_costs(timeline, steps.window.tiles, events.start[waits], events.end[waits], counted)
    return Table(
        {
            "handle": handle_column(trace, SYNC, rows),
            "call": name_column(trace, rows),
            "ns": events.duration[rows],
            "busy_overlap_ns": costs.busy,
            "saving_low_ns": costs.low,
            "saving_high_ns": costs.high,
            "operator": name_column(trace, trace.links.operator[rows]),
            "where": place_column(trace, rows),
            "row": rows,
        }
    )


def own_waits(trace: Trace, steps: Steps) -> Int64s:
    """Rows of all blocking waits of the steps' threads, in start order."""
    waits = rows_behind(trace, SYNC)
    return waits[steps.threads.own[trace.events.lane[waits]]]


def sync_costs(timeline: Timeline, tiles: Int64s, start: Int64s, end: Int64s, counted: Bools) -> SyncCosts:
    """Costs of the counted ones among all waits of a trace, in a window.

    start, end: (n) ns of all waits, in start order. counted: (n) mask of those to remove and to tell of."""
    if not counted.any():
        nothing = np.empty(0, dtype=np.int64)
        return SyncCosts(nothing, nothing, nothing)
    waiting = intersect(timeline.within(Part.SYNC_WAIT), tiles)
    refill = intersect(timeline.within(Part.SYNC_REFILL), tiles)
    low = (_while_waiting(waiting, start, end) + _after_waiting(timeline, refill, end))[counted]
    begun, ended = start[counted], end[counted]
    busy = covered(_busy(timeline), begun, ended)
    return SyncCosts(busy, low, np.maximum(low, _hidden(timeline, tiles, begun, ended)))


def _hidden(timeline: Timeline, tiles: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """Idle time that each wait kept the host from hiding.

    Without the waits the host gets ahead by the length of each, and what it is ahead shortens later idle time of
    its own making; what is hidden before the next wait counts for this one."""
    hosted = timeline.within(*(part for part in Part if part.class_name in HOST_CLASSES))
    idle = covered(intersect(hosted, tiles), start, np.append(start[1:], _last(timeline, start)))
    balance = np.cumsum(end - start - idle)
    ahead = balance - np.minimum(np.minimum.accumulate(balance), 0)
    return end - start + np.append(0, ahead)[:-1] - ahead


def _while_waiting(waiting: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """What of the interval set lies in each wait; what two waits share goes to the one begun first."""
    reach = np.append(0, np.maximum.accumulate(end))[: len(end)]
    return covered(waiting, np.minimum(np.maximum(start, reach), end), end)


def _after_waiting(timeline: Timeline, refill: Int64s, end: Int64s) -> Int64s:
    """What of the interval set follows each wait that ended in a gap, up to the end of the next such wait."""
    gap = np.flatnonzero(timeline.gap != ABSENT)
    order = np.argsort(end, kind="stable")
    order = order[inside(timeline.start[gap], timeline.end[gap], end[order])]
    ended = end[order]
    result = np.zeros(len(end), dtype=np.int64)
    result[order] = covered(refill, ended, np.append(ended[1:], _last(timeline, ended)))
    return result


def _busy(timeline: Timeline) -> Int64s:
    """Interval set of the time in which the device runs anything."""
    rows = np.flatnonzero(timeline.gap == ABSENT)
    return union(timeline.start[rows], timeline.end[rows])


def _last(timeline: Timeline, times: Int64s) -> Int64s:
    """The timeline's end, at least the last of the times; nothing when there are no times."""
    return np.maximum(times[-1:], timeline.end.max(initial=0))
