"""How busy a set of intervals keeps any stretch of time, exactly, without looking at each interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.model.events import Floats, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The union of intervals as disjoint, ascending spans in ns, with their lengths summed up."""

    start: Int64s
    end: Int64s
    before: Int64s
    """(spans + 1) ns covered before each span, and in all."""

    @classmethod
    def of(cls, start: Int64s, end: Int64s) -> Coverage:
        """Union of intervals in any order, which may overlap; those of no length count for nothing."""
        order = np.argsort(start, kind="stable")
        order = order[end[order] > start[order]]
        starts, reach = start[order], np.maximum.accumulate(end[order])
        opens = np.flatnonzero(np.r_[True, starts[1:] > reach[:-1]]) if len(order) else np.empty(0, np.int64)
        ends = reach[np.r_[opens[1:] - 1, len(order) - 1]] if len(order) else reach
        first = starts[opens]
        return cls(first, ends, np.r_[np.int64(0), np.cumsum(ends - first)])

    def until(self, times: Int64s) -> Int64s:
        """ns covered before each time. O(times log spans)."""
        if not len(self.start):
            return np.zeros(len(times), dtype=np.int64)
        last = np.searchsorted(self.start, times, side="right")
        unfinished = np.maximum(self.end[np.maximum(last - 1, 0)] - times, 0)
        return self.before[last] - np.where(last > 0, unfinished, 0)

    def within(self, edges: Int64s) -> Int64s:
        """ns covered between each two neighbouring edges."""
        return np.diff(self.until(edges))

    def shares(self, edges: Int64s) -> Floats:
        """Share 0..1 covered between each two neighbouring edges, which must differ."""
        return self.within(edges) / np.diff(edges)
