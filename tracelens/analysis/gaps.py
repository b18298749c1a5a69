"""Gaps of a device: when it runs nothing, and which host call ends each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracelens.analysis.extent import device_rows, recorded_end
from tracelens.analysis.parts import Part
from tracelens.analysis.threads import Threads
from tracelens.model.events import ABSENT, HOST, Bools, Bytes, Int32s, Int64s, Role, Trace, among


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """n gaps of one device in start order, and the launch that ended each; times in ns."""

    start: Int64s
    end: Int64s
    before: Int32s
    """Row of the device event that ended last before the gap; ABSENT at the head."""
    after: Int32s
    """Row of the device event that ends the gap, the one launched first of several; ABSENT at the tail."""
    launch: Int32s
    """Row of its call; ABSENT without one."""
    called: Int64s
    """Start of the call, at most the gap's end; the gap's end without a call and for that of a thread which is none of
    the steps': whatever it launches, theirs were still on the way to a launch of their own."""
    returned: Int64s
    """End of the call, at most the gap's end."""
    is_graph: Bools
    """The call is a graph launch."""
    lane: Int32s
    """Thread of the call; without one of the steps', the thread that launches most for this device (ABSENT if none
    does)."""
    in_graph: Bools
    """The graph launch of the event that ends the gap had already started another node."""

    def __len__(self) -> int:
        return len(self.start)


def find_causes(trace: Trace, device: int, threads: Threads) -> Causes:
    """Gaps between the first and the last event of host or device, with what ended each."""
    rows = device_rows(trace, device)
    rows = rows[trace.events.duration[rows] > 0]
    _, start, end = idle(trace, rows)
    before, after = _last_ended(trace, rows, start), _first_launched(trace, rows, end)
    launch = np.where(after == ABSENT, ABSENT, trace.links.launch[after]).astype(np.int64)
    linked = launch != ABSENT
    own = linked & threads.own[trace.events.lane[launch]]
    called = np.where(own, np.minimum(trace.events.start[launch], end), end)
    returned = np.where(own, np.minimum(trace.events.end[launch], end), end)
    is_graph = linked & (trace.events.role[launch] == Role.GRAPH_LAUNCH)
    lane = np.where(own, trace.events.lane[launch], _main_lane(trace, rows, threads)).astype(np.int32)
    in_graph = _in_graph(trace, after, end)
    return Causes(start, end, before, after, launch.astype(np.int32), called, returned, is_graph, lane, in_graph)


def idle(trace: Trace, rows: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Device, start and end of each gap between these rows of work, of all their devices at once.

    By device, then in start order; from the first to the last event of the host or of the device itself."""
    events = trace.events
    rows = rows[events.duration[rows] > 0]
    devices, own = np.unique(events.device[rows], return_inverse=True)
    host = among(events.category, HOST) & events.complete()
    first = np.full(len(devices), events.start[host].min(initial=np.iinfo(np.int64).max))
    last = np.full(len(devices), recorded_end(trace))
    np.minimum.at(first, own, events.start[rows])
    np.maximum.at(last, own, events.end[rows])
    every = np.arange(len(devices))
    group = np.concatenate((every, own, every))
    start, end = np.concatenate((first, events.start[rows], last)), np.concatenate((first, events.end[rows], last))
    order = np.lexsort((start, group))
    group, start = group[order], start[order]
    reach = _reach(group, end[order])
    gap = np.flatnonzero((group[1:] == group[:-1]) & (start[1:] > reach[:-1]))
    return devices[group[gap]].astype(np.int64), reach[gap], start[gap + 1]


def main_parts(gaps: int, gap: npt.NDArray[np.integer], part: Bytes, ns: Int64s) -> Bytes:
    """The part that holds most of each of so many gaps; (m) gap, part and ns of their pieces."""
    held = np.zeros(gaps * len(Part), dtype=np.int64)
    np.add.at(held, gap.astype(np.int64) * len(Part) + part, ns)
    return held.reshape(gaps, len(Part)).argmax(axis=1).astype(np.uint8)


def _reach(group: Int64s, end: Int64s) -> Int64s:
    """The latest end so far within each group; groups ascend."""
    known, place = np.unique(end, return_inverse=True)
    return known[np.maximum.accumulate(group * len(known) + place) - group * len(known)]


def _last_ended(trace: Trace, rows: Int64s, start: Int64s) -> Int32s:
    order = rows[np.argsort(trace.events.end[rows], kind="stable")]
    found = np.searchsorted(trace.events.end[order], start, side="right") - 1
    return np.where(found >= 0, order[found], ABSENT).astype(np.int32)


def _first_launched(trace: Trace, rows: Int64s, end: Int64s) -> Int32s:
    """Of the events starting at each gap's end, the linked one launched first; any where none is linked."""
    events, launch = trace.events, trace.links.launch[rows]
    launched = np.where(launch == ABSENT, np.iinfo(np.int64).max, events.start[launch])
    order = rows[np.lexsort((launched, events.start[rows]))]
    found = np.searchsorted(events.start[order], end, side="left")
    ends = found < len(order)
    found = np.where(ends, found, 0)
    return np.where(ends, order[found], ABSENT).astype(np.int32)


def _in_graph(trace: Trace, after: Int32s, end: Int64s) -> Bools:
    """Whether the graph launch of the event after each gap had started another node before.

    Events without a launch record that share a correlation id come from one graph launch that was not recorded."""
    events, launch = trace.events, trace.links.launch
    work = np.flatnonzero(events.device_work())
    shared = np.where(launch[work] != ABSENT, launch[work], len(events) + events.correlation[work])
    origins, number = np.unique(shared, return_inverse=True)
    first = np.full(len(origins), np.iinfo(np.int64).max)
    np.minimum.at(first, number, events.start[work])
    known = np.where(
        launch[work] != ABSENT, events.role[launch[work]] == Role.GRAPH_LAUNCH, events.correlation[work] > 0
    )
    began = np.full(len(events), np.iinfo(np.int64).max)
    began[work[known]] = first[number[known]]
    return (after != ABSENT) & (began[after] < end)


def _main_lane(trace: Trace, rows: Int64s, threads: Threads) -> int:
    launch = trace.links.launch[rows]
    lanes = trace.events.lane[launch[launch != ABSENT]]
    lanes = lanes[threads.own[lanes]]
    return int(np.bincount(lanes).argmax()) if len(lanes) else ABSENT
