"""Ways from one event to another: operator to launch to kernel and back, and gap to gap."""

from __future__ import annotations

import numpy as np

from tracelens.model.events import ABSENT, DEVICE_WORK, SUBMITS, Bools, Category, Int64s, Trace, among
from tracelens.model.intervals import covered
from tracelens.tui.inks import Ink
from tracelens.tui.lanes import Lane


def follow(trace: Trace, row: int) -> int:
    """The next event on the way to the device: of a host event its first launch, of a launch its first work.

    ABSENT at the end of the way."""
    events = trace.events
    if events.category[row] in DEVICE_WORK:
        return ABSENT
    if events.category[row] == Category.RUNTIME:
        return _first(trace, trace.links.launch == row)
    inside = (events.lane == events.lane[row]) & (events.start >= events.start[row])
    inside &= (events.start < events.end[row]) & (events.category == Category.RUNTIME)
    return _first(trace, inside & among(events.role, SUBMITS))


def follow_back(trace: Trace, row: int) -> int:
    """The event that issued this one: of device work its launch, of a call its operator, else what encloses it.

    ABSENT at the end of the way."""
    links, category = trace.links, trace.events.category[row]
    if category in DEVICE_WORK:
        return int(links.launch[row])
    operator = int(links.operator[row]) if category == Category.RUNTIME else ABSENT
    return operator if operator != ABSENT else int(links.parent[row])


def _first(trace: Trace, mask: Bools) -> int:
    rows = np.flatnonzero(mask)
    return int(rows[trace.events.start[rows].argmin()]) if len(rows) else ABSENT


class GapWalk:
    """The gaps of a lane: in order those that are not the device's own spacing, if there are any, and all by length."""

    def __init__(self, gaps: Lane) -> None:
        worth = np.flatnonzero(gaps.ink != Ink.DEVICE)
        self.lane = gaps
        self.indices = worth if len(worth) else np.arange(len(gaps))
        self.ranked = self._ranking(np.zeros(len(gaps), np.int64))

    def prefer(self, tiles: Int64s) -> None:
        """Rank by the time in the counted tiles, as the table of gaps does, and then by length."""
        self.ranked = self._ranking(covered(tiles, self.lane.start, self.lane.end))

    def _ranking(self, counted: Int64s) -> Int64s:
        """All indices, those with most counted ns first, of the rest the longest."""
        return np.lexsort((self.lane.start - self.lane.end, -counted))

    def after(self, ns: int) -> int:
        """Index of the first gap that starts later, else of the first of all; ABSENT without gaps."""
        found = int(np.searchsorted(self.lane.start[self.indices], ns, side="right"))
        return int(self.indices[found % len(self.indices)]) if len(self.indices) else ABSENT

    def before(self, ns: int) -> int:
        """Index of the last gap that starts earlier, else of the last of all; ABSENT without gaps."""
        found = int(np.searchsorted(self.lane.start[self.indices], ns, side="left"))
        return int(self.indices[found - 1]) if len(self.indices) else ABSENT

    def worst(self, current: int = ABSENT) -> int:
        """Index of the longest counted gap, or of the next one after `current`; ABSENT without gaps."""
        if not len(self.ranked):
            return ABSENT
        at = np.flatnonzero(self.ranked == current)
        return int(self.ranked[(at[0] + 1) % len(self.ranked) if len(at) else 0])
