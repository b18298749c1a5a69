"""The sync table: host calls that wait for the device, and what removing each would save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from tracelens.analysis.handles import SYNC, handles_of, rows_behind
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Steps, Timeline
from tracelens.analysis.tables.columns import operator_names, table
from tracelens.analysis.where import places
from tracelens.model.events import ABSENT, Bools, Int64s, Trace
from tracelens.model.intervals import covered, union
from tracelens.model.names import names_of

HOST_CLASSES: Final = ("sync", "dispatch", "launch")
"""Idle time that a host which runs ahead would hide."""


@dataclass(frozen=True, slots=True, eq=False)
class SyncCosts:
    """What each wait overlapped and cost, in ns; all of one length."""

    busy: Int64s
    """Of the wait, while the device was busy."""
    low: Int64s
    """The wait's share of sync.wait and sync.refill; these add up to the timeline's."""
    high: Int64s
    """An upper bound of what removing all waits up to this one saves until the next one begins."""


def sync_table(trace: Trace, steps: Steps, timeline: Timeline) -> pd.DataFrame:
    """Blocking waits made in the counted steps, in start order; blocking copies are among them.

    By the call, not by tiles of time: where the device lags behind, the wait after the last step lies in a tile.

    Columns: handle, call, ns, busy_overlap_ns, saving_low_ns and saving_high_ns (what removing it saves, see
    `sync_costs`), operator, where, row."""
    events, rows = trace.events, rows_behind(trace, SYNC)
    costs = sync_costs(timeline, events.start[rows], events.end[rows])
    shown = np.flatnonzero(steps.owner[rows] != ABSENT)
    rows = rows[shown]
    return table(
        {
            "handle": handles_of(trace, SYNC, rows),
            "call": names_of(trace, rows),
            "ns": events.duration[rows],
            "busy_overlap_ns": costs.busy[shown],
            "saving_low_ns": costs.low[shown],
            "saving_high_ns": costs.high[shown],
            "operator": operator_names(trace, rows),
            "where": places(trace, rows),
            "row": rows,
        }
    )


def sync_costs(timeline: Timeline, start: Int64s, end: Int64s) -> SyncCosts:
    """Costs of waits [start, end), ns, in start order.

    The upper bound follows a host that no wait holds up: it gets ahead by the length of each wait, and what it
    is ahead shortens later idle time of the host's making, as long as there is any."""
    busy = timeline.gap == ABSENT
    overlap = covered(_pieces(timeline, busy), start, end)
    low = _waited(timeline, start, end) + _refilled(timeline, end)
    hosted = np.isin(timeline.part, [part for part in Part if part.class_name in HOST_CLASSES])
    idle = covered(_pieces(timeline, hosted), start, np.append(start[1:], _last(timeline, start)))
    ahead = np.cumsum(end - start - idle)
    ahead = ahead - np.minimum(np.minimum.accumulate(ahead), 0)
    before = np.append(0, ahead[:-1])[: len(ahead)]
    return SyncCosts(overlap, low, np.maximum(end - start + before - ahead, low))


def _waited(timeline: Timeline, start: Int64s, end: Int64s) -> Int64s:
    """sync.wait of each; what two waits share goes to the one begun first."""
    reach = np.maximum.accumulate(np.append(0, end))[: len(end)]
    waits = _pieces(timeline, timeline.part == Part.SYNC_WAIT)
    return covered(waits, np.minimum(np.maximum(start, reach), end), end)


def _refilled(timeline: Timeline, end: Int64s) -> Int64s:
    """sync.refill after each wait that ended in a gap, up to the end of the next such wait."""
    order = np.argsort(end, kind="stable")
    order = order[covered(_pieces(timeline, timeline.gap != ABSENT), end[order], end[order] + 1) > 0]
    ended = end[order]
    refill = _pieces(timeline, timeline.part == Part.SYNC_REFILL)
    result = np.zeros(len(end), dtype=np.int64)
    result[order] = covered(refill, ended, np.append(ended[1:], _last(timeline, ended)))
    return result


def _pieces(timeline: Timeline, mask: Bools) -> Int64s:
    return union(timeline.start[mask], timeline.end[mask])


def _last(timeline: Timeline, times: Int64s) -> Int64s:
    """The timeline's end, at least the last of the times; nothing when there are no times."""
    return np.maximum(times[-1:], timeline.end.max(initial=0))
