"""The lanes of a timeline: sorted slices of one thread, stream or kind of event, ready to be drawn at any zoom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.analysis.kinds import is_communication
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Timeline
from tracelens.model.events import (
    ABSENT,
    NO_STREAM,
    SUBMITS,
    Bools,
    Bytes,
    Category,
    Int32s,
    Int64s,
    Role,
    Trace,
    among,
)
from tracelens.model.nesting import enclosing_among
from tracelens.tui.coverage import Coverage
from tracelens.tui.inks import CLASS_INKS, Ink

DEEPEST: Final = 12
"""Levels of nesting with a lane of their own; what lies deeper shares the last."""
NEVER: Final = np.iinfo(np.int64).max


class LaneKind(IntEnum):
    """What the slices of a lane are."""

    ANNOTATIONS = 0
    GAPS = 1
    STREAM = 2
    OPERATORS = 3
    CALLS = 4
    PYTHON = 5


NESTED_INKS: Final = {
    LaneKind.ANNOTATIONS: Ink.ANNOTATION,
    LaneKind.OPERATORS: Ink.OPERATOR,
    LaneKind.PYTHON: Ink.PYTHON,
}


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """Slices in start order; of gaps, `row` is the gap's number, otherwise the row of the trace."""

    title: str
    kind: LaneKind
    row: Int32s
    start: Int64s
    end: Int64s
    reach: Int64s
    """The furthest end of any slice so far."""
    ink: Bytes
    name: Int32s
    words: Sequence[str]
    """What `name` counts in."""
    covers: tuple[tuple[Ink, Coverage], ...]
    """What is busy with what."""

    def __len__(self) -> int:
        return len(self.row)

    def label(self, index: int) -> str:
        """The name of a slice."""
        return self.words[int(self.name[index])]

    def visible(self, start: int, end: int) -> tuple[int, int]:
        """First and behind-last index of the slices that may touch [start, end]."""
        return int(np.searchsorted(self.reach, start)), int(np.searchsorted(self.start, end, side="right"))

    def at(self, ns: int) -> int:
        """Index of the innermost slice that holds a time, else of the nearest one; ABSENT in an empty lane."""
        last = int(np.searchsorted(self.start, ns, side="right")) - 1
        if not len(self) or (last >= 0 and self.end[last] > ns):
            return last if len(self) else ABSENT
        near = [index for index in (last, last + 1) if 0 <= index < len(self)]
        return min(near, key=lambda index: max(self.start[index] - ns, ns - self.end[index]))

    def index(self, row: int) -> int:
        """Index of the slice of a row, or ABSENT."""
        found = np.flatnonzero(self.row == row)
        return int(found[0]) if len(found) else ABSENT

    def spans(self, chosen: Bools) -> Coverage:
        """What some of the slices cover, none of them less than 1 ns."""
        return Coverage.of(self.start[chosen], np.maximum(self.end, self.start + 1)[chosen])

    def only(self, keep: Bools) -> Lane:
        """The lane with some of its slices."""
        chosen = np.flatnonzero(keep)
        columns = (self.row[chosen], self.start[chosen], self.end[chosen], self.ink[chosen], self.name[chosen])
        return make_lane(self.title, self.kind, *columns, words=self.words)


def make_lane(
    title: str,
    kind: LaneKind,
    row: npt.NDArray[np.integer],
    start: Int64s,
    end: Int64s,
    ink: Bytes,
    name: Int32s,
    *,
    words: Sequence[str],
) -> Lane:
    """A lane of slices in any order; those that enclose come before what they enclose."""
    order = np.lexsort((-end, start))
    start, end, ink, name = start[order], end[order], ink[order], name[order]
    reach = np.maximum.accumulate(end) if len(end) else end
    rows = row[order].astype(np.int32)
    return Lane(title, kind, rows, start, end, reach, ink, name, words, _covers(start, end, ink))


def trace_lanes(trace: Trace, timeline: Timeline | None = None) -> list[Lane]:
    """All lanes of a trace: annotations, the gaps of the analysed device, streams, then threads by launches."""
    annotations = _nested(trace, _host_rows(trace, Category.ANNOTATION), "annotations", LaneKind.ANNOTATIONS)
    gaps = [gap_lane(timeline)] if timeline is not None else []
    return [*annotations, *gaps, *_streams(trace), *_threads(trace)]


def gap_lane(timeline: Timeline) -> Lane:
    """The gaps of a device, each inked by the class that holds most of it; cells follow every piece of them."""
    idle = np.flatnonzero(timeline.gap != ABSENT)
    start, end, part = timeline.start[idle], timeline.end[idle], timeline.part[idle]
    number, first, inverse = np.unique(timeline.gap[idle], return_index=True, return_inverse=True)
    last = np.append(first[1:], len(idle))[: len(first)] - 1
    held = np.bincount(inverse * len(Part) + part, weights=end - start, minlength=len(number) * len(Part))
    most = held.reshape(len(number), len(Part)).argmax(axis=1).astype(np.int32)
    inks = np.array([CLASS_INKS[part.class_name] for part in Part], dtype=np.uint8)
    words = [f"{part.class_name}.{part.part_name}" for part in Part]
    columns = (number, start[first], end[last], inks[most], most)
    lane = make_lane(f"GPU {timeline.device} idle", LaneKind.GAPS, *columns, words=words)
    return replace(lane, covers=_covers(start, end, inks[part]))


def _covers(start: Int64s, end: Int64s, ink: Bytes) -> tuple[tuple[Ink, Coverage], ...]:
    """What is busy with what."""
    return tuple((Ink(int(one)), Coverage.of(start[ink == one], end[ink == one])) for one in np.unique(ink))


def _lane_of(trace: Trace, rows: npt.NDArray[np.integer], title: str, kind: LaneKind, ink: Bytes) -> Lane:
    events = trace.events
    start = events.start[rows]
    columns = (rows, start, start + events.duration[rows], ink, events.name[rows])
    return make_lane(title, kind, *columns, words=trace.names)


def _streams(trace: Trace) -> list[Lane]:
    """One lane per stream of each device."""
    events = trace.events
    work = np.flatnonzero(events.device_work())
    # As one number: sorting pairs holds up all other threads.
    places = np.unique((events.device[work].astype(np.int64) << 32) + events.stream[work] - NO_STREAM)
    lanes: list[Lane] = []
    for device, stream in zip((places >> 32).tolist(), ((places & 0xFFFFFFFF) + NO_STREAM).tolist(), strict=True):
        rows = work[(events.device[work] == device) & (events.stream[work] == stream)]
        ink = np.where(events.category[rows] == Category.KERNEL, Ink.COMPUTE, Ink.COPY).astype(np.uint8)
        ink[is_communication(trace, rows)] = Ink.COMMUNICATION
        lanes.append(_lane_of(trace, rows, f"GPU {device} stream {stream}", LaneKind.STREAM, ink))
    return lanes


def _threads(trace: Trace) -> list[Lane]:
    """Operators, calls and Python frames of each host thread; the thread that launches most comes first."""
    events = trace.events
    rows = {kind: _host_rows(trace, kind) for kind in (Category.OPERATOR, Category.RUNTIME, Category.PYTHON)}
    calls = rows[Category.RUNTIME]
    size = len(trace.lanes)
    launches = np.bincount(events.lane[calls[among(events.role[calls], SUBMITS)]], minlength=size)
    number = np.bincount(events.lane[np.concatenate(list(rows.values()))], minlength=size)
    lanes: list[Lane] = []
    for thread in np.lexsort((-number, -launches))[: np.count_nonzero(number)].tolist():
        own = {kind: of_kind[events.lane[of_kind] == thread] for kind, of_kind in rows.items()}
        title = _thread_title(trace, thread)
        lanes += _nested(trace, own[Category.OPERATOR], title, LaneKind.OPERATORS)
        lanes += _calls(trace, own[Category.RUNTIME], f"{title} calls")
        lanes += _nested(trace, own[Category.PYTHON], f"{title} Python", LaneKind.PYTHON)
    return lanes


def _thread_title(trace: Trace, lane: int) -> str:
    tid, name = trace.lanes.tid[lane], trace.lanes.thread[lane]
    return name if tid in name else f"{name or 'thread'} {tid}"


def _calls(trace: Trace, rows: npt.NDArray[np.integer], title: str) -> list[Lane]:
    ink = np.where(trace.events.role[rows] == Role.SYNC, Ink.WAIT, Ink.CALL).astype(np.uint8)
    return [_lane_of(trace, rows, title, LaneKind.CALLS, ink)] if len(rows) else []


def _nested(trace: Trace, rows: Int64s, title: str, kind: LaneKind) -> list[Lane]:
    """One lane per level of nesting."""
    depth = np.minimum(_levels(trace, rows), DEEPEST - 1)
    ink = NESTED_INKS[kind]
    levels = range(int(depth.max(initial=-1)) + 1)
    at_level = (rows[depth == level] for level in levels)
    return [_lane_of(trace, own, title, kind, np.full(len(own), ink, np.uint8)) for own in at_level]


def _host_rows(trace: Trace, category: Category) -> Int64s:
    return np.flatnonzero((trace.events.category == category) & trace.events.complete())


def _levels(trace: Trace, rows: Int64s) -> Int64s:
    """Level of each of `rows`, so that none lies over another: the first that is free where it begins.

    Of what only nests, the depth. An optimizer's step that ends in the next profiler step does not push that down."""
    events = trace.events
    start, end = events.start[rows], events.end[rows]
    parent = enclosing_among(rows, trace.links.parent, events.lane, events.start, events.end)
    depth = _depth(parent)
    if not (end > np.append(end, NEVER)[parent]).any():
        return depth
    level, taken = np.zeros(len(rows), np.int64), np.zeros((1, DEEPEST), np.int64)
    place = np.zeros(len(rows), np.int64)
    for number in range(int(depth.max()) + 1):
        own = np.flatnonzero(depth == number)
        # Until when each level is taken, along the events above.
        taken = taken[place[parent[own]]] if number else np.repeat(taken, len(own), axis=0)
        taken[:, -1] = 0
        level[own] = (taken <= start[own, np.newaxis]).argmax(axis=1)
        place[own] = np.arange(len(own))
        taken[place[own], level[own]] = end[own]
    return level


def _depth(parent: Int64s) -> Int64s:
    """How many are above each, by doubling the distance climbed."""
    above = np.append(parent, ABSENT)
    depth = np.where(above == ABSENT, 0, 1)
    while (above != ABSENT).any():
        depth += depth[above]
        above = above[above]
    return depth[:-1]
