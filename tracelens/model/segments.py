"""What holds at an instant on a thread: disjoint segments of several groups, searched in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelens.model.codes import Code
from tracelens.model.events import ABSENT, Bools, Bytes, Int32s, Int64s
from tracelens.model.intervals import foremost
from tracelens.model.nesting import by_start, in_a_row


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Disjoint segments of time, each with a value, for each of several groups (threads, processes).

    Start and end are group * stride + ns, so that one sorted array holds all groups."""

    stride: int
    start: Int64s
    end: Int64s
    value: npt.NDArray[Any]

    def at(self, group: npt.NDArray[np.integer], time: Int64s, missing: int | Code) -> npt.NDArray[Any]:
        """Value that holds in each group at each time (ns), `missing` where none does."""
        if not len(self.start):
            return np.full(len(time), missing, dtype=self.value.dtype)
        key = group.astype(np.int64) * self.stride + time
        found = np.searchsorted(self.start, key, side="right") - 1
        holds = (found >= 0) & (key < self.end[found]) & (time < self.stride)
        return np.where(holds, self.value[found], self.value.dtype.type(missing))

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


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Begins and ends of n events of several groups, in the order of time.

    Of those at one time ends come first, that of the event begun last before others'; then begins, of the longest
    event before others'. Events of no duration have none."""

    stride: int
    end: Int64s
    """(n) ns."""
    time: Int64s
    """(edges) group * stride + ns."""
    event: Int32s
    """(edges) Index of the event."""
    begins: Bools
    """(edges) Whether it begins."""

    @classmethod
    def of(cls, group: npt.NDArray[np.integer], start: Int64s, end: Int64s) -> Edges:
        """Of events with these times in ns, >= 0."""
        stride = int(end.max(initial=0)) + 1
        solid = np.flatnonzero(end > start).astype(np.int32)
        offset = group[solid].astype(np.int64) * stride
        begin, close = offset + start[solid], offset + end[solid]
        del offset  # of a large trace each is many MB
        begun = by_start(begin, close)
        closed = _in_closing_order(begun, close)
        time = np.concatenate((close[closed], begin[begun]))
        event = solid[np.concatenate((closed, begun))]
        del begin, close, begun, closed
        order = np.argsort(time, kind="stable")
        return cls(stride, end, time.take(order), event.take(order), order >= len(solid))

    def among(self, events: Int64s) -> Edges:
        """Of some of the events, in their order, counted anew."""
        number = np.full(len(self.end), ABSENT, dtype=np.int32)
        number[events] = np.arange(len(events))
        event = number.take(self.event)
        kept = np.flatnonzero(event != ABSENT)
        return Edges(self.stride, self.end[events], self.time.take(kept), event.take(kept), self.begins.take(kept))

    def innermost(self, parent: Int64s) -> Segments:
        """At each instant, the index of the event begun last that is still open; parent is what `enclosing` finds."""
        after_close, closes = _after_close(parent, self.end)
        kept = slice(None) if closes.all() else np.flatnonzero(self.begins | closes.take(self.event))
        time, event = self.time[kept], self.event[kept]
        state = np.where(self.begins[kept], event, after_close.astype(np.int32).take(event))
        held = np.flatnonzero((state[:-1] != ABSENT) & (time[1:] > time[:-1]))
        return Segments(self.stride, time.take(held), time[1:].take(held), state.take(held))


def _in_closing_order(begun: Int64s, close: Int64s) -> Int64s:
    """Events by their end, those that end together in the opposite order of `begun`, which is nearly the order."""
    place = np.argsort(close[begun], kind="stable")
    ordered = close[begun[place]]
    tied = in_a_row(ordered[1:] == ordered[:-1])
    place[tied] = place[tied[np.lexsort((-place[tied], ordered[tied]))]]
    return begun[place]


def _after_close(parent: Int64s, end: Int64s) -> tuple[Int64s, Bools]:
    """What is innermost after each event closes, and whether its close changes that at all.

    Where events overlap without nesting, an event closes under one begun later, which then stays innermost.
    """
    heir = parent.copy()
    closes = np.ones(len(parent), dtype=np.bool_)
    outlives = np.flatnonzero(heir != ABSENT)
    while len(outlives := outlives[end[heir[outlives]] < end[outlives]]):
        closes[heir[outlives]] = False
        heir[outlives] = parent[heir[outlives]]
        outlives = outlives[heir[outlives] != ABSENT]
    return heir, closes


def by_rank(group: npt.NDArray[np.integer], start: Int64s, end: Int64s, rank: Bytes) -> Segments:
    """At each instant, the lowest rank of the events open in the group."""
    stride = int(end.max(initial=0)) + 1
    offset = group.astype(np.int64) * stride
    return Segments(stride, *foremost(offset + start, offset + end, rank))
