"""Which work of a step waits for which: the order within streams, and the events between them; times in ns."""

from __future__ import annotations

import numpy as np

from tracelens.advice.step.region import Region
from tracelens.model.events import ABSENT, Floats
from tracelens.model.once import once


def critical_path(region: Region, taken: Floats, hand_over: float = 0.0) -> float:
    """Length of the longest chain of stream order and event edges, with so many ns for each of the edges."""
    return float((earliest(region, taken, hand_over) + taken).max())


def earliest(region: Region, taken: Floats, hand_over: float = 0.0) -> Floats:
    """(n) When each piece of work can begin, by the order within streams and the events between them."""
    before, stream, found = np.append(0.0, np.cumsum(taken)), region.stream.tolist(), runs(region)
    first, final = np.array([(first, final) for first, final, _ in found], dtype=np.int64).reshape(-1, 2).T
    start: list[float] = []
    ready: dict[int, float] = {}
    finish: dict[int, float] = {}
    for (at, last, edges), spent in zip(found, (before[final + 1] - before[first]).tolist(), strict=True):
        own = stream[at]
        handed = [finish[edge] + hand_over * (stream[edge] != own) for edge in edges]
        start.append(max(ready.get(own, 0.0), *handed, 0.0))
        ready[own] = finish[last] = start[-1] + spent
    count = final - first + 1
    return np.repeat(np.array(start), count) + before[:-1] - np.repeat(before[first], count)


@once
def runs(region: Region) -> list[tuple[int, int, tuple[int, ...]]]:
    """(first, last, edges) of maximal runs of work on one stream: the first waits for the ends of these runs too.

    Traces rarely say which event a stream waits for. An event recorded and waited for at once is Stream.wait_stream:
    before work on the main stream a join of all others, else a fork of the others from it. A later wait is for the
    work launched before the record. Edges that the trace's own times refute are dropped."""
    main = main_stream(region)
    others = [stream for stream in np.unique(region.stream).tolist() if stream != main]
    last = dict.fromkeys([main, *others], ABSENT)
    waiting: dict[int, dict[int, int]] = {stream: {} for stream in last}
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for first, final in _bounds(region):
        stream, forks = int(region.stream[first]), bool(region.fork[first])
        edges = [int(region.source[first])]
        if forks:
            edges += [last[main]] if stream != main else [last[other] for other in others]
        held = {int(region.stream[edge]): edge for edge in edges if edge != ABSENT and _holds(region, edge, first)}
        for heir in others if forks and stream != main else [stream]:
            waiting[heir] |= held
        found.append((first, final, tuple(waiting[stream].values())))
        waiting[stream], last[stream] = {}, final
    return found


def main_stream(region: Region) -> int:
    """The stream that others fork from and join: the lowest, which is the default stream where that runs work; ABSENT
    where the lowest forks before any work, from one that runs none."""
    lowest = int(region.stream.min())
    return ABSENT if region.fork[0] and region.stream[0] == lowest else lowest


def _holds(region: Region, edge: int, first: int) -> bool:
    """Whether the trace itself ran the edge's source before its target."""
    events, work = region.trace.events, region.work
    return bool(events.end[work[edge]] <= events.start[work[first]])


def _bounds(region: Region) -> list[tuple[int, int]]:
    """First and last of maximal runs of work on one stream; an edge starts or ends at every run's bound."""
    head = np.append(True, np.diff(region.stream) != 0) | region.fork | (region.source != ABSENT)
    after = region.source[region.source != ABSENT] + 1
    head[after[after < len(head)]] = True
    first = np.flatnonzero(head)
    return list(zip(first.tolist(), np.append(first[1:] - 1, len(head) - 1).tolist(), strict=True))
