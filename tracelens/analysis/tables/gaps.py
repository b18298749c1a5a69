"""The gap table: what a device waited for, gap by gap."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from tracelens.analysis.handles import GAP, written
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Gaps
from tracelens.analysis.table import Table, Told
from tracelens.analysis.tables.columns import in_tiles, name_column, place_column
from tracelens.model.events import ABSENT, Int64s, Trace
from tracelens.model.windows import Window

CLASS_NAMES: Final = np.array([part.class_name for part in Part], dtype=object)
PART_NAMES: Final = np.array([part.part_name for part in Part], dtype=object)


def gap_table(trace: Trace, gaps: Gaps, numbers: Int64s, window: Window) -> Table:
    """Gaps of one device that share time with the window, whole, in start order.

    numbers: those of the handles of all its gaps. Columns: handle, start_ns (after Trace.base_ns), ns, class and part
    (that hold most of it), before and after (names of the device events around it), operator (that filled most of it
    on the launching thread), where, row (of the device event that ends it, ABSENT at the tail)."""
    shown = np.flatnonzero(in_tiles(window, gaps.start, gaps.end))
    after, operator = gaps.after[shown], gaps.operator[shown]
    return Table(
        {
            "handle": Told(numbers[shown], partial(written, GAP)),
            "start_ns": gaps.start[shown],
            "ns": gaps.end[shown] - gaps.start[shown],
            "class": CLASS_NAMES[gaps.part[shown]],
            "part": PART_NAMES[gaps.part[shown]],
            "before": name_column(trace, gaps.before[shown]),
            "after": name_column(trace, after),
            "operator": name_column(trace, operator),
            "where": place_column(trace, np.where(operator != ABSENT, operator, after)),
            "row": after.astype(np.int64),
        }
    )
