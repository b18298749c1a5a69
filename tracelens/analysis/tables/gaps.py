"""The gap table: what a device waited for, gap by gap."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from tracelens.analysis.gaps import main_parts
from tracelens.analysis.handles import GAP, written
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Gaps, Timeline
from tracelens.analysis.table import Table, Told
from tracelens.analysis.tables.columns import name_column, place_column
from tracelens.model.events import ABSENT, Bytes, Int64s, Trace
from tracelens.model.intervals import covered
from tracelens.model.windows import Window

CLASS_NAMES: Final = np.array([part.class_name for part in Part], dtype=object)
PART_NAMES: Final = np.array([part.part_name for part in Part], dtype=object)


def gap_table(trace: Trace, gaps: Gaps, numbers: Int64s, timeline: Timeline, window: Window) -> Table:
    """What the window has of the gaps of one device, in start order; their ns add up to its idle time.

    numbers: those of the handles of all its gaps. Columns: handle, start_ns (after Trace.base_ns), ns, class and part
    (that hold most of that time), before and after (names of the device events around the whole gap), operator (that
    filled most of it on the launching thread), where, row (of the device event that ends it, ABSENT at the tail)."""
    tiles = window.tiles
    shown = np.flatnonzero(window.meets(gaps.start, gaps.end))
    start, end, part = gaps.start[shown], gaps.end[shown], gaps.part[shown]
    ns = covered(tiles, start, end)
    cut = np.flatnonzero(ns < end - start)
    part[cut] = _main_parts(timeline, shown[cut], tiles)
    after, operator = gaps.after[shown], gaps.operator[shown]
    return Table(
        {
            "handle": Told(numbers[shown], partial(written, GAP)),
            "start_ns": np.maximum(start, tiles[np.searchsorted(tiles[:, 1], start, side="right"), 0]),
            "ns": ns,
            "class": CLASS_NAMES[part],
            "part": PART_NAMES[part],
            "before": name_column(trace, gaps.before[shown]),
            "after": name_column(trace, after),
            "operator": name_column(trace, operator),
            "where": place_column(trace, np.where(operator != ABSENT, operator, after)),
            "row": after.astype(np.int64),
        }
    )


def _main_parts(timeline: Timeline, gaps: Int64s, tiles: Int64s) -> Bytes:
    """The part that holds most of what lies in the tiles of each of these gaps."""
    piece = np.flatnonzero(np.isin(timeline.gap, gaps))
    ns = covered(tiles, timeline.start[piece], timeline.end[piece])
    return main_parts(len(gaps), np.searchsorted(gaps, timeline.gap[piece]), timeline.part[piece], ns)
