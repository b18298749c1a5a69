"""When device work runs: streams, forks and joins, waits of the host; all times in ns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.before import before
from tracelens.advice.operators import Operators
from tracelens.advice.region import Region
from tracelens.advice.working_set import working_set
from tracelens.model.events import ABSENT, Bools, Floats
from tracelens.model.intervals import length, union
from tracelens.model.once import once

REPETITIONS = 3
"""Steps simulated; the last one shows the steady state."""


@dataclass(frozen=True, slots=True)
class Span:
    """How long a step's device work takes when the host is no limit."""

    expected: float
    least: float
    """Streams overlap freely: the critical path."""
    most: float
    """Nothing overlaps: the sum."""

    @property
    def overlap(self) -> float:
        """What overlap of streams leaves of the sum: 1 on one stream."""
        return self.expected / self.most if self.most else 1.0

    def at_least(self, floor: float) -> Span:
        """The same where the work takes no less than so many ns."""
        floor = min(floor, self.most)
        return Span(max(self.expected, floor), max(self.least, floor), self.most)


def graph_spacing(region: Region, operators: Operators, cold: bool | None = None) -> Floats:
    """(n) ns that each piece of work takes in a graph beside its duration.

    The device fetches what a node is to run while the node before it runs. Where the step's own data push that out of
    the cache between two replays (`cold`; None: if they fill it), it comes from memory, too late after short work."""
    cold = working_set(region, operators) > C.CACHE_FOR_STEP if cold is None else cold
    soon = before(region.duration < C.NODE_FETCH, False)
    node = np.where(soon & cold, C.COLD_NODE_SPACING, C.NODE_SPACING)
    return np.where(region.memset, C.NODE_SPACING + C.MEMSET_SPACING, node)


def device_span(region: Region, share: Floats, spacing: Floats | float) -> Span:
    """Device time of the step with a spacing in ns for each piece of work, overlap of streams kept.

    The order within streams and the events between them give the critical path. Work beside it begins in turn with it,
    and gets in its way as far as it takes of the device; the step is not shorter than what nothing can run beside and
    the sum of what each other piece takes of the device, all of it where little room is left. Overlap that the trace
    itself shows stays, and hides the spacing of all work beside the path. Each hand-over from stream to stream along
    the path takes its time in any case, less where nothing can run beside it."""
    taken = region.duration + spacing
    whole = float(taken.sum())
    if len(np.unique(region.stream)) < 2:
        return Span(whole, whole, whole)
    begin, (alone, beside) = earliest(region, taken), _unspaced(region)
    path, by_itself = float((begin + taken).max()), unaccompanied(begin, begin + taken)
    handed = critical_path(region, taken, C.HAND_OVER if whole - path >= 1 else C.CHAIN_HAND_OVER) - path
    takes, beside_others = np.where(share >= C.FILLS, 1.0, share), taken - by_itself
    crowd = float(takes @ beside_others) / max(float(beside_others.sum()), 1.0)
    filled = float(by_itself.sum() + takes @ (beside_others * region.duration / np.maximum(taken, 1)))
    delay = C.NODE_SPACING * beside + C.INTERFERENCE * (whole - path) * crowd
    seen = busy_alone(region) + path - alone
    expected = min(max(path + delay, filled), seen)
    return Span(expected + handed, path, whole + handed)


def unaccompanied(begin: Floats, end: Floats) -> Floats:
    """(n) Ns of each interval in which no other runs."""
    bounds = np.unique(np.concatenate((begin, end)))
    first, last = np.searchsorted(bounds, begin), np.searchsorted(bounds, end)
    at_once = np.cumsum(np.bincount(first, minlength=len(bounds)) - np.bincount(last, minlength=len(bounds)))
    single = np.append(0.0, np.cumsum(np.diff(bounds) * (at_once[:-1] == 1)))
    return single[last] - single[first]


@once
def _unspaced(region: Region) -> tuple[float, float]:
    """Length of the critical path without any spacing, and how many pieces of work are beside it."""
    alone = critical_path(region, region.duration)
    return alone, len(region) - (critical_path(region, region.duration + 1) - alone)


def stretched(region: Region, share: Floats) -> float:
    """Share of the work's time in the trace by which pieces that each fill the device, side by side, slowed one
    another: one after the other they take that much less."""
    whole = float(region.duration.sum())
    return _overlapped(region, share >= C.FILLS) / whole if whole else 0.0


def busy_alone(region: Region) -> float:
    """Ns in which the device was busy with the work as traced."""
    return float(region.duration.sum()) - _overlapped(region)


def _overlapped(region: Region, of: Bools | slice = slice(None)) -> float:
    """Ns by which some work's own times in the trace, side by side, are shorter than their sum."""
    events, work = region.trace.events, region.work[of]
    start, end = events.start[work], events.end[work]
    return float((end - start).sum()) - length(union(start, end))


def critical_path(region: Region, taken: Floats, hand_over: float = 0.0) -> float:
    """Length of the longest chain of stream order and event edges, with so many ns for each of the edges."""
    return float((earliest(region, taken, hand_over) + taken).max())


def earliest(region: Region, taken: Floats, hand_over: float = 0.0) -> Floats:
    """(n) When each piece of work can begin, by the order within streams and the events between them.

    Traces rarely say which event a stream waits for. An event recorded and waited for at once is Stream.wait_stream:
    before work on the main stream a join of all others, else a fork of the others from it. A later wait is for the
    work launched before the record. Edges that the trace's own times refute are dropped."""
    main = main_stream(region)
    others = [stream for stream in np.unique(region.stream).tolist() if stream != main]
    ready = dict.fromkeys([main, *others], 0.0)
    last = dict.fromkeys([main, *others], ABSENT)
    finish: dict[int, float] = {}
    begin = np.empty(len(region))
    for first, final, spent in _runs(region, taken):
        stream = int(region.stream[first])
        edges = [int(region.source[first])]
        if region.fork[first]:
            edges += [last[main]] if stream != main else [last[other] for other in others]
        held = [edge for edge in edges if edge != ABSENT and _holds(region, edge, first)]
        heirs = [stream] if stream == main or not region.fork[first] else others
        for heir in heirs:
            begins = [finish[edge] + hand_over * (region.stream[edge] != heir) for edge in held]
            ready[heir] = max(ready[heir], *begins, 0.0)
        begin[first : final + 1] = ready[stream] + np.append(0.0, np.cumsum(taken[first:final]))
        ready[stream] += spent
        finish[final], last[stream] = ready[stream], final
    return begin


def main_stream(region: Region) -> int:
    """The stream that others fork from and join: the lowest, which is the default stream where that runs work; ABSENT
    where the lowest forks before any work, from one that runs none."""
    lowest = int(region.stream.min())
    return ABSENT if region.fork[0] and region.stream[0] == lowest else lowest


def _holds(region: Region, edge: int, first: int) -> bool:
    """Whether the trace itself ran the edge's source before its target."""
    events, work = region.trace.events, region.work
    return bool(events.end[work[edge]] <= events.start[work[first]])


def _runs(region: Region, taken: Floats) -> Iterator[tuple[int, int, float]]:
    """(first, last, time) of maximal runs of work on one stream; an edge starts or ends at every run's bound."""
    head = np.append(True, np.diff(region.stream) != 0) | region.fork | (region.source != ABSENT)
    after = region.source[region.source != ABSENT] + 1
    head[after[after < len(head)]] = True
    first = np.flatnonzero(head)
    last = np.append(first[1:], len(head)) - 1
    yield from zip(first.tolist(), last.tolist(), np.add.reduceat(taken, first).tolist(), strict=True)


def eager_period(region: Region, overlap: float, host_scale: float, device_scale: float) -> float:
    """Time of one step when its launches repeat step after step, with host times scaled.

    One queue in launch order: work starts a latency after its launch or when the work before it is done; a wait
    holds the host until the queue is empty. Work of several streams is shortened to what overlap leaves of it."""
    duration = queued(region, overlap, device_scale)
    reach, work = _stretches(region, host_scale * region.issued + C.LAUNCH_LATENCY, duration)
    waits = (host_scale * region.wait_at).tolist()
    now = done = finished = 0.0
    for _ in range(REPETITIONS):
        finished, shift = done, now
        for at, (latest, whole) in enumerate(zip(reach, work, strict=True)):
            done = max(shift + latest, done + whole)
            if at < len(waits):
                shift += max(done - shift - waits[at], 0.0) + C.SYNC_RETURN
        now = shift + host_scale * region.host
    return done - finished


def queued(region: Region, overlap: float, device_scale: float) -> Floats:
    """(n) ns that each piece of work takes of the queue."""
    return (region.duration * device_scale + C.STREAM_SPACING) * overlap


def _stretches(region: Region, issued: Floats, duration: Floats) -> tuple[list[float], list[float]]:
    """Per stretch of work between waits: when it is done if only its own launches hold it up, and its total.

    A queue is done at the latest of every start plus all that follows it."""
    bounds = np.concatenate(([0], region.waits, [len(region)]))
    behind = np.append(0.0, np.cumsum(duration))
    total = np.diff(behind[bounds])
    ends = np.repeat(behind[bounds[1:]], np.diff(bounds))
    latest = np.full(len(total), -np.inf)
    busy = np.diff(bounds) > 0
    latest[busy] = np.maximum.reduceat(issued + ends - behind[:-1], bounds[:-1][busy])
    return latest.tolist(), total.tolist()
