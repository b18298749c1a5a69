"""When device work runs: streams, forks and joins, waits of the host; all times in ns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.working_set import working_set
from tracelens.advice.operators.operators import Operators
from tracelens.advice.step.before import before
from tracelens.advice.step.dependencies import critical_path
from tracelens.advice.step.region import Region
from tracelens.model.events import Bools, Floats
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

    def within(self, part: float) -> Span:
        """The same with bounds this part of their way from what is expected."""
        least = self.expected + part * (self.least - self.expected)
        return Span(self.expected, least, self.expected + part * (self.most - self.expected))

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


def device_span(region: Region, beside: float, spacing: Floats | float) -> Span:
    """Device time of the step with a spacing in ns for each piece of work, overlap of streams kept.

    The order within streams and the events between them give the critical path; it takes longer by what `beside` says.
    Overlap that the trace itself shows stays, and hides the spacing of all work beside the path."""
    taken = region.duration + spacing
    whole = float(taken.sum())
    if len(np.unique(region.stream)) < 2:
        return Span(whole, whole, whole)
    path = critical_path(region, taken)
    handed = critical_path(region, taken, C.HAND_OVER) - path
    seen = busy_alone(region) + path - _unspaced(region)
    return Span(min(path + beside, max(seen, path) + handed), path, whole + handed)


@once
def _unspaced(region: Region) -> float:
    """Length of the critical path without any spacing."""
    return critical_path(region, region.duration)


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
