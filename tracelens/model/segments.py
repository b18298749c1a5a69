"""What holds at an instant on a thread: disjoint segments of several groups, searched in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, Bools, Bytes, Int64s
from tracelens.model.intervals import foremost
from tracelens.model.nesting import enclosing


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Disjoint segments of time, each with a value, for each of several groups (threads, processes).

    Start and end are group * stride + ns, so that one sorted array holds all groups."""

    stride: int
    start: Int64s
    end: Int64s
    value: npt.NDArray[Any]

    def at(self, group: npt.NDArray[np.integer], time: Int64s, missing: int) -> npt.NDArray[Any]:
        """Value that holds in each group at each time (ns), `missing` where none does."""
        if not len(self.start):
            return np.full(len(time), missing, dtype=self.value.dtype)
        key = group.astype(np.int64) * self.stride + time
        found = np.searchsorted(self.start, key, side="right") - 1
        holds = (found >= 0) & (key < self.end[found]) & (time < self.stride)
        return np.where(holds, self.value[found], missing)

    def joined(self) -> Segments:
        """The same with neighbours of one value as one segment."""
        begins = (self.start[1:] != self.end[:-1]) | (self.value[1:] != self.value[:-1])
        first = np.flatnonzero(np.append(True, begins)[: len(self.start)])
        last = np.append(first[1:], len(self.start))[: len(first)] - 1
        return Segments(self.stride, self.start[first], self.end[last], self.value[first])

    def within(self, group: npt.NDArray[np.integer], start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """What of each interval [start, end) of a group is held: index of the interval, of the segment, and ns."""
        offset = group.astype(np.int64) * self.stride
        low, high = offset + np.minimum(start, self.stride), offset + np.minimum(end, self.stride)
        first = np.searchsorted(self.end, low, side="right")
        count = np.searchsorted(self.start, high, side="left") - first
        count[(count < 0) | (high <= low)] = 0
        interval = np.repeat(np.arange(len(count)), count)
        segment = np.arange(len(interval)) - np.repeat(np.cumsum(count) - count - first, count)
        held = np.minimum(self.end[segment], high[interval]) - np.maximum(self.start[segment], low[interval])
        return interval, segment, held

    def edges(self) -> Int64s:
        """All starts and ends in ns, in no order."""
        return np.concatenate((self.start, self.end)) % self.stride


def innermost(group: npt.NDArray[np.integer], start: Int64s, end: Int64s, parent: Int64s | None = None) -> Segments:
    """At each instant, the index of the event begun last that is still open; times in ns, >= 0.

    parent: what `enclosing` finds, where it is known already."""
    parent = enclosing(group.astype(np.int32), start, end) if parent is None else parent
    stride = int(end.max(initial=0)) + 1
    offset = group.astype(np.int64) * stride
    opening, closing = offset + start, offset + end
    del offset
    after_close, closes = _after_close(parent, end)
    solid = np.flatnonzero(end > start).astype(np.int32)
    begun = solid[np.lexsort((-end[solid], opening[solid]))]
    # What is closed at the same time: the one begun first comes last, and is what counts.
    closed = begun[closes[begun]][::-1]
    closed = closed[np.argsort(closing[closed], kind="stable")]
    times = np.concatenate((closing[closed], opening[begun]))
    state = np.concatenate((after_close[closed].astype(np.int32), begun))
    del opening, closing, after_close, closes, solid, begun, closed  # of a large trace each is many MB
    order = np.argsort(times, kind="stable")
    times, state = times[order], state[order]
    keep = np.flatnonzero((state[:-1] != ABSENT) & (times[1:] > times[:-1]))
    return Segments(stride, times[keep], times[keep + 1], state[keep])


def _after_close(parent: Int64s, end: Int64s) -> tuple[Int64s, Bools]:
    """What is innermost after each event closes, and whether its close changes that at all.

    Where events overlap without nesting, an event closes under one begun later, which then stays innermost.
    """
    heir = parent.copy()
    closes = np.ones(len(parent), dtype=np.bool_)
    while True:
        outlives = np.flatnonzero((heir != ABSENT) & (end[heir] < end))
        if not len(outlives):
            return heir, closes
        closes[heir[outlives]] = False
        heir[outlives] = parent[heir[outlives]]


def by_rank(group: npt.NDArray[np.integer], start: Int64s, end: Int64s, rank: Bytes) -> Segments:
    """At each instant, the lowest rank of the events open in the group."""
    stride = int(end.max(initial=0)) + 1
    offset = group.astype(np.int64) * stride
    return Segments(stride, *foremost(offset + start, offset + end, rank))
