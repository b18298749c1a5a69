"""How much longer work of several streams takes side by side in a graph, where the host is no limit; times in ns."""

from __future__ import annotations

from heapq import heappop, heappush, nlargest

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.dependencies import earliest, runs
from tracelens.advice.region import Region
from tracelens.advice.share import Held
from tracelens.model.events import Floats

MOST = 5_000
"""Pieces of work that are looked at, the first ones of a longer step: they tell of the others."""
DONE = 1e-3
"""Ns of a piece of work that are none."""


def delay(region: Region, held: Held) -> float:
    """Ns by which the work of several streams ends later than its critical path.

    A graph's work is played through: each piece begins when what it waits for is done and takes longer by what runs
    beside it, see `_Device`. Each hand-over from stream to stream takes its time, and so does each stream that begins
    by itself."""
    if len(np.unique(region.stream)) < 2:
        return 0.0
    count = min(len(region), MOST)
    taken = region.duration + np.where(region.memset, C.MEMSET_SPACING, 0.0)
    spaced = taken + C.NODE_SPACING
    ends = earliest(region, spaced) + spaced
    path = float(ends[:count].max())
    later = max(_played(_Graph(region, count), _Device(region, held, taken)) - path, 0.0)
    return later * float(ends.max()) / path


class _Graph:
    """What waits for what among the first pieces of work."""

    def __init__(self, region: Region, count: int) -> None:
        self.stream = region.stream.tolist()
        self.awaits = [0] * count
        self.after: list[list[int]] = [[] for _ in range(count)]
        last: dict[int, int] = {}
        for first, final, edges in runs(region):
            if first >= count:
                break
            stream, final = self.stream[first], min(final, count - 1)
            before = {last[stream], *edges} if stream in last else set(edges)
            self._link(before, first)
            for piece in range(first, final):
                self._link({piece}, piece + 1)
            last[stream] = final

    def _link(self, before: set[int], piece: int) -> None:
        self.awaits[piece] = len(before)
        for earlier in before:
            self.after[earlier].append(piece)

    def begun(self) -> list[tuple[float, int]]:
        """(when, which) pieces wait for nothing: streams that begin by themselves do so in turn."""
        roots = [piece for piece, count in enumerate(self.awaits) if not count]
        return [(place * C.FORK, piece) for place, piece in enumerate(roots)]

    def freed(self, piece: int, end: float, ready: list[float]) -> list[tuple[float, int]]:
        """(when, which) pieces can begin as this one is done at `end`."""
        free: list[tuple[float, int]] = []
        for later in self.after[piece]:
            over = C.HAND_OVER if self.stream[later] != self.stream[piece] else 0.0
            ready[later] = max(ready[later], end + C.NODE_SPACING + over)
            self.awaits[later] -= 1
            if not self.awaits[later]:
                free.append((ready[later], later))
        return free


class _Device:
    """What runs, and how fast.

    Kernels that hold more multiprocessors together than there are share some. There each takes longer by what the
    others hold of the device, times what it and they take of a multiprocessor, the mean of both; no longer than if all
    took turns at whole multiprocessors or it came after the one beside it that holds most. Memsets take turns.
    A kernel beside which nodes begin ends a node's spacing later for each of them, its own included, unless it takes
    longer anyway. [measured: chains of 83 kinds of kernels side by side in graphs, H200]"""

    def __init__(self, region: Region, held: Held, taken: Floats) -> None:
        self.taken: list[float] = taken.tolist()
        self.held: list[float] = held.device.tolist()
        self.full: list[float] = held.multiprocessor.tolist()
        self.memset: list[bool] = region.memset.tolist()
        self.now = 0.0
        self.left: dict[int, float] = {}
        self.slow: dict[int, float] = {}
        self.earliest: dict[int, float] = {}

    def next_end(self) -> float:
        """When the first of the work that runs is done."""
        return min((self.now + left * self.slow[piece] for piece, left in self.left.items()), default=np.inf)

    def start(self, piece: int) -> None:
        for other in self.left:
            self.earliest[other] += C.NODE_SPACING
        beside = C.NODE_SPACING if self.left else 0.0
        self.earliest[piece] = self.now + self.taken[piece] + beside
        self.left[piece] = self.taken[piece]
        self._share()

    def run(self, until: float) -> list[tuple[int, float]]:
        """(piece, end) of the work that is done by then."""
        for piece in self.left:
            self.left[piece] -= (until - self.now) / self.slow[piece]
        self.now = until
        done = [piece for piece, left in self.left.items() if left < DONE]
        for piece in done:
            del self.left[piece]
        if done:
            self._share()
        return [(piece, max(until, self.earliest[piece])) for piece in done]

    def _share(self) -> None:
        held = sum(self.held[piece] for piece in self.left)
        taken = sum(self.held[piece] * self.full[piece] for piece in self.left)
        memsets = sum(self.memset[piece] for piece in self.left)
        most, second = nlargest(2, [0.0, 0.0, *(self.held[piece] for piece in self.left)])
        for piece in self.left:
            mine, full = self.held[piece], self.full[piece]
            beside = (full * (held - mine) + taken - full * mine) / 2
            shared = min((held - 1) / mine, 1.0) if mine and held > 1 else 0.0
            turns = max(held, 1 + (second if mine == most else most))
            self.slow[piece] = memsets if self.memset[piece] else min(1 + shared * beside, turns)


def _played(graph: _Graph, device: _Device) -> float:
    """When all work is done. The device begins one node at a time."""
    ready, queue, launched, finished = [0.0] * len(graph.awaits), graph.begun(), -np.inf, 0.0
    while queue or device.left:
        start = max(queue[0][0], launched + C.NODE_SPACING) if queue else np.inf
        for piece, end in device.run(min(start, device.next_end())):
            finished = max(finished, end)
            for free in graph.freed(piece, end, ready):
                heappush(queue, free)
        if start <= device.now:
            device.start(heappop(queue)[1])
            launched = device.now
    return finished + C.NODE_SPACING
