"""One timeline of a device: every ns from the first to the last event in exactly one part.

Built once for the whole trace and clipped to windows afterwards, so that windows add up. Busy time goes to
compute, then communication, then copies. A gap is read from the launch that ended it: what the launching thread
did until the call, the call itself, and the way from the call to the device (of a graph launch, part of it).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.analysis.extent import device_rows
from tracelens.analysis.gaps import Causes, find_causes, main_parts
from tracelens.analysis.host_activity import Activity, HostActivity, host_activity, parts_of
from tracelens.analysis.kinds import is_communication
from tracelens.analysis.parts import Part
from tracelens.analysis.refill import spent_credit
from tracelens.analysis.results import Gaps, Timeline
from tracelens.analysis.threads import Threads, find_threads
from tracelens.model.events import ABSENT, SUBMITS, Bools, Bytes, Category, Int32s, Int64s, Trace, among
from tracelens.model.intervals import covered, foremost, inside, union
from tracelens.model.masks import run_starts

LATENCY_CAP_NS: Final = 100_000
"""From a launch's return to its start on the device; the largest seen on sound traces is 90 us."""
ENOUGH_LAUNCHES: Final = 5
"""Launches on an idle device from which the shortest way to the device is known."""
SPACING_NS: Final = 20_000
"""A gap before work that was already launched: up to here the device's own pace, beyond it a dependency."""
DISPATCH: Final = (
    Part.DISPATCH_FRAMEWORK,
    Part.DISPATCH_PYTHON,
    Part.DISPATCH_COMPILER,
    Part.DISPATCH_INPUT,
    Part.DISPATCH_ALLOCATOR,
)
REFILLABLE: Final = (Part.DISPATCH_FRAMEWORK, Part.DISPATCH_PYTHON)
LAUNCH: Final = (Part.LAUNCH_API, Part.LAUNCH_LATENCY, Part.LAUNCH_GRAPH, Part.LAUNCH_LOADING)


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Ascending disjoint pieces of gaps: start, end in ns, index of the gap, part."""

    start: Int64s
    end: Int64s
    gap: Int32s
    part: Bytes


def build_timeline(trace: Trace, device: int, threads: Threads | None = None) -> tuple[Timeline, Gaps]:
    """Timeline and gaps of one device, from the first to the last event of host or device.

    threads: those of its steps, if they are at hand. Head and tail, before the device's first and after its last
    event, are gaps as well. A device that ran nothing has an empty timeline.
    """
    threads = threads or find_threads(trace, device)
    activity = host_activity(trace, threads)
    busy = _busy(trace, device_rows(trace, device))
    causes = find_causes(trace, device, threads)
    pieces = _label(_cut(trace, causes, activity), causes, activity)
    pieces = _mark_refill(trace, _mark_profiler(trace, pieces), busy, activity)
    return _assemble(device, busy, pieces), _summarise(causes, pieces, activity)


def _busy(trace: Trace, rows: Int64s) -> _Pieces:
    """Device work by part; where it overlaps, compute before communication before copies."""
    events = trace.events
    kernel = np.where(is_communication(trace, rows), Part.KERNEL_COMMUNICATION, Part.KERNEL_COMPUTE)
    part = np.where(events.category[rows] == Category.KERNEL, kernel, Part.KERNEL_COPY)
    start, end, part = foremost(events.start[rows], events.end[rows], part.astype(np.uint8))
    return _Pieces(start, end, np.full(len(start), ABSENT, dtype=np.int32), part)


def _cut(trace: Trace, causes: Causes, activity: HostActivity) -> _Pieces:
    """Gaps, cut wherever any rule may change its answer."""
    events = trace.events
    overhead = np.flatnonzero(events.category == Category.OVERHEAD)
    edges = np.concatenate(
        (
            *(causes.start, causes.end, causes.called, causes.returned, _arrived(causes)),
            *(activity.threads.edges(), activity.holdups.edges()),
            *(events.start[overhead], events.end[overhead], events.end[activity.waits]),
        )
    )
    edges.sort(kind="stable")  # of runs that are sorted already, which others sort as if they were not
    # By where the few gaps begin among the many edges, which is faster than to search for each edge.
    begun = np.searchsorted(edges, causes.start)
    gap = np.repeat(np.arange(ABSENT, len(causes)), np.diff(begun, prepend=0, append=len(edges)))
    inside = (gap >= 0) & (edges < np.append(causes.end, 0)[gap])
    inside = np.flatnonzero(inside[:-1] & (edges[1:] > edges[:-1]))
    start = edges[inside]
    return _Pieces(start, edges[inside + 1], gap[inside].astype(np.int32), np.zeros(len(start), dtype=np.uint8))


def _label(pieces: _Pieces, causes: Causes, activity: HostActivity) -> _Pieces:
    """Give each piece the part that the launch at its gap's end, or the lack of one, implies."""
    gap, time = pieces.gap.astype(np.int64), pieces.start
    lane, returned = causes.lane[gap], causes.returned[gap]
    tail, unlinked = causes.after[gap] == ABSENT, causes.launch[gap] == ABSENT
    doing = activity.at(lane, time)
    host = parts_of(doing, Part.DISPATCH_PYTHON)
    calls = among(doing, (Activity.LAUNCH, Activity.LOADING))
    way = np.where(causes.is_graph[gap], Part.LAUNCH_GRAPH, Part.LAUNCH_LATENCY).astype(np.uint8)
    late = parts_of(activity.holdups.at(activity.process[lane], time, Activity.NOTHING), Part.UNKNOWN_STALLED)
    rules: tuple[tuple[Bools, Bytes | Part], ...] = (
        (tail & (calls | (lane == ABSENT)), Part.UNKNOWN_OUTSIDE),
        (tail, host),
        (causes.in_graph[gap], Part.DEVICE_IN_GRAPH),
        (unlinked, Part.UNKNOWN_UNLINKED),
        (time < causes.called[gap], host),
        (time < returned, _call_parts(causes, activity)[gap]),
        (time < _arrived(causes)[gap], way),
        (returned <= causes.start[gap], _queued_parts(causes)[gap]),
    )
    choices = [np.broadcast_to(np.asarray(part, dtype=np.uint8), time.shape) for _, part in rules]
    return dataclasses.replace(pieces, part=np.select([mask for mask, _ in rules], choices, late))


def _call_parts(causes: Causes, activity: HostActivity) -> Bytes:
    """Part of the launch call that ends each gap."""
    loads = activity.rows[causes.launch] == Activity.LOADING
    plain = np.where(loads, Part.LAUNCH_LOADING, Part.LAUNCH_API)
    return np.where(causes.is_graph, Part.LAUNCH_GRAPH, plain).astype(np.uint8)


def _arrived(causes: Causes) -> Int64s:
    """Until when each call's work could still be on its way to the device, in ns.

    Where the device was idle when the call returned, up to LATENCY_CAP_NS. Where it was still busy, what is
    left of the shortest way: the 10th percentile over launches that began on an idle device."""
    fresh = (causes.called >= causes.start) & (causes.returned < causes.end)
    way = (causes.end - causes.returned)[fresh]
    shortest = min(int(np.percentile(way, 10)), LATENCY_CAP_NS) if len(way) >= ENOUGH_LAUNCHES else 0
    return causes.returned + np.where(causes.returned > causes.start, LATENCY_CAP_NS, shortest)


def _queued_parts(causes: Causes) -> Bytes:
    """Part of each gap if its next event was launched before it began."""
    short = causes.end - causes.start <= SPACING_NS
    return np.where(short, Part.DEVICE_SPACING, Part.DEVICE_DEPENDENCY).astype(np.uint8)


def _mark_profiler(trace: Trace, pieces: _Pieces) -> _Pieces:
    """Take the profiler's own work, where it stops the host, out of dispatch and launch."""
    events = trace.events
    overhead = np.flatnonzero(events.category == Category.OVERHEAD)
    calls = np.sort(events.start[among(events.role, SUBMITS)])
    begun = np.searchsorted(calls, events.end[overhead]) - np.searchsorted(calls, events.start[overhead])
    # Of two calls begun meanwhile the first has also returned: the host went on beside it.
    stops = overhead[begun < 2]
    flushes = union(events.start[stops], events.end[stops])
    cut = among(pieces.part, DISPATCH + LAUNCH) & (covered(flushes, pieces.start, pieces.end) > 0)
    return dataclasses.replace(pieces, part=np.where(cut, np.uint8(Part.UNKNOWN_PROFILER), pieces.part))


def _mark_refill(trace: Trace, pieces: _Pieces, busy: _Pieces, activity: HostActivity) -> _Pieces:
    """Relabel the dispatch that waits left to do, at most as long as each overlapped a busy device."""
    if not len(activity.waits):
        return pieces
    begun, ended = trace.events.start[activity.waits], trace.events.end[activity.waits]
    in_gap = inside(pieces.start, pieces.end, ended)
    credit = covered(union(busy.start, busy.end), begun, ended)
    spends = among(pieces.part, DISPATCH + LAUNCH)
    paid = spent_credit(pieces.start, pieces.end, spends.astype(np.int64), ended[in_gap], credit[in_gap])
    return _split(pieces, np.where(among(pieces.part, REFILLABLE), paid, 0))


def _split(pieces: _Pieces, refill: Int64s) -> _Pieces:
    """Make the first `refill` ns of each piece sync.refill."""
    at = pieces.start + refill
    start, end = np.concatenate((pieces.start, at)), np.concatenate((at, pieces.end))
    part = np.concatenate((np.full(len(at), Part.SYNC_REFILL, dtype=np.uint8), pieces.part))
    gap = np.tile(pieces.gap, 2)
    keep = np.flatnonzero(end > start)
    keep = keep[np.argsort(start[keep], kind="stable")]
    return _Pieces(start[keep], end[keep], gap[keep], part[keep])


def _assemble(device: int, busy: _Pieces, idle: _Pieces) -> Timeline:
    """All pieces in order, neighbours of one part and gap joined."""
    start = np.concatenate((busy.start, idle.start))
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.concatenate((busy.end, idle.end))[order]
    part = np.concatenate((busy.part, idle.part))[order]
    gap = np.concatenate((busy.gap, idle.gap))[order]
    first = np.flatnonzero(run_starts(part, gap))
    last = np.append(first[1:] - 1, len(start) - 1)[: len(first)]
    return Timeline(device, start[first], end[last], part[first], gap[first])


def _summarise(causes: Causes, pieces: _Pieces, activity: HostActivity) -> Gaps:
    """Gaps with their main part and the operator that filled most of each on its launching thread."""
    part = main_parts(len(causes), pieces.gap, pieces.part, pieces.end - pieces.start)
    operator = _operators(causes, activity)
    return Gaps(causes.start, causes.end, part, causes.before, causes.after, operator)


def _operators(causes: Causes, activity: HostActivity) -> Int32s:
    """Row of the operator that is innermost for most of each gap on its launching thread; ABSENT without one."""
    gap, row, ns = activity.operators.within(causes.lane, causes.start, causes.end)
    row = activity.operators.value[row]
    order = np.lexsort((row, gap))
    gap, row, ns = gap[order], row[order], ns[order]
    first = np.flatnonzero(run_starts(gap, row))
    gap, row = gap[first], row[first]
    total = np.add.reduceat(ns, first) if len(first) else ns
    most = np.zeros(len(causes), dtype=np.int64)
    np.maximum.at(most, gap, total)
    fills = np.flatnonzero(total == most[gap])
    found = np.full(len(causes), ABSENT, dtype=np.int32)
    found[gap[fills]] = row[fills]
    return found
