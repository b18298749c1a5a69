"""The gap table: what a device waited for, gap by gap."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracelens.analysis.parts import Part
from tracelens.analysis.results import Gaps
from tracelens.analysis.tables.columns import in_tiles, optional_names, table
from tracelens.analysis.where import places
from tracelens.model.events import ABSENT, Trace
from tracelens.model.windows import Window

CLASS_NAMES: Final = np.array([part.class_name for part in Part], dtype=object)
PART_NAMES: Final = np.array([part.part_name for part in Part], dtype=object)


def gap_table(trace: Trace, gaps: Gaps, handles: npt.NDArray[np.object_], window: Window) -> pd.DataFrame:
    """Gaps of one device that share time with the window, whole, in start order.

    handles: of all of its gaps. Columns: handle, start_ns (after Trace.base_ns), ns, class and part (that hold
    most of it), before and after (names of the device events around it), operator (that filled most of it on the
    launching thread), where, row (of the device event that ends it, ABSENT at the tail)."""
    shown = np.flatnonzero(in_tiles(window, gaps.start, gaps.end))
    after, operator = gaps.after[shown], gaps.operator[shown]
    return table(
        {
            "handle": handles[shown],
            "start_ns": gaps.start[shown],
            "ns": gaps.end[shown] - gaps.start[shown],
            "class": CLASS_NAMES[gaps.part[shown]],
            "part": PART_NAMES[gaps.part[shown]],
            "before": optional_names(trace, gaps.before[shown]),
            "after": optional_names(trace, after),
            "operator": optional_names(trace, operator),
            "where": places(trace, np.where(operator != ABSENT, operator, after)),
            "row": after.astype(np.int64),
        }
    )
