"""Begin and end events (`ph` "B" and "E", as other tools write them) to complete events.

An end closes the begin that was opened last on its lane, whatever its name. The begin becomes the complete event;
the end stays a row of its own, without a duration and without a category: what it repeats of its begin is no second
event.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.loading.batch import NO_TIME
from tracelens.model.events import COMPLETE, Bools, Bytes, Category, Int32s, Int64s

BEGIN: Final = ord("B")
END: Final = ord("E")
Rows: TypeAlias = npt.NDArray[np.integer]


def complete_pairs(phase: Bytes, category: Bytes, lane: Int32s, start: Int64s, duration: Int64s) -> tuple[Rows, Rows]:
    """Make each begin that has its end complete, in place; the rows of begins and of ends left over, ascending.

    Times are in ns. One that gives no time has no place on its lane and is left over.
    """
    marks = np.flatnonzero((phase == BEGIN) | (phase == END))
    if not len(marks):
        return marks, marks
    timed = marks[start[marks] != NO_TIME]
    order = timed[np.lexsort((timed, start[timed], lane[timed]))]
    begins, ends = _matched(phase[order] == BEGIN, lane[order])
    begins, ends = order[begins], order[ends]
    duration[begins] = start[ends] - start[begins]
    phase[begins] = COMPLETE
    category[marks[phase[marks] == END]] = Category.OTHER
    left = np.setdiff1d(marks, ends)
    return left[phase[left] == BEGIN], left[phase[left] == END]


def _matched(is_begin: Bools, lane: Int32s) -> tuple[Rows, Rows]:
    """Places of begins and of the ends that close them, given the lanes one after the other, each in time order."""
    number, level, stray = _levels(is_begin, lane)
    place = np.flatnonzero(~stray)
    place = place[np.lexsort((place, level[place], number[place]))]
    same = (np.diff(number[place]) == 0) & (np.diff(level[place]) == 0)
    pair = np.flatnonzero(same & is_begin[place[:-1]] & ~is_begin[place[1:]])
    return place[pair], place[pair + 1]


def _levels(is_begin: Bools, lane: Int32s) -> tuple[Int64s, Int64s, Bools]:
    """Number of the lane of each mark, how many are open within it, and whether it ends what was never begun."""
    count = len(lane)
    first = np.flatnonzero(np.diff(lane, prepend=-1))
    number = np.repeat(np.arange(len(first)), np.diff(first, append=count))
    step = np.where(is_begin, 1, -1)
    total = np.cumsum(step)
    depth = total - (total - step)[first][number]
    floor = -number * (2 * count + 2)  # so far apart that the lowest depth of a lane does not reach the next
    lowest = np.minimum(np.minimum.accumulate(depth + floor), floor) - floor
    lowest_before = np.where(np.isin(np.arange(count), first), 0, np.roll(lowest, 1))
    return number, depth - lowest + ~is_begin, lowest < lowest_before
