"""How much longer work of several streams takes side by side in a graph, where the host is no limit; times in ns."""

from __future__ import annotations

from heapq import heappop, heappush, nlargest

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.share import Held
from tracelens.advice.patterns import FROM_HOST
from tracelens.advice.step.dependencies import earliest, runs
from tracelens.advice.step.inner_waits import TO_HOST
from tracelens.advice.step.region import Region
from tracelens.model.events import Category, Floats
from tracelens.model.names import named

MOST = 5_000
"""Pieces of work that are looked at, the first ones of a longer step: they tell of the others."""
DONE = 1e-3
"""Ns of a piece of work that are none."""
MEMSETS, INWARD, OUTWARD = 1, 2, 3
"""What work takes turns for."""


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
    turns = _turns(region)
    later = max(_played(_Graph(region, count, turns), _Device(turns, held, taken)) - path, 0.0)
    return later * float(ends.max()) / path


def _turns(region: Region) -> list[int]:
    """What work takes turns for: copies to and from the host for the device's two copy engines, and memsets; else 0."""
    copies = region.trace.events.category[region.work] == Category.COPY
    there, back = (copies & named(region.trace, region.work, way) for way in (FROM_HOST, TO_HOST))
    return np.select([region.memset, there, back], [MEMSETS, INWARD, OUTWARD], 0).tolist()


class _Graph:
    """What waits for what among the first pieces of work."""

    def __init__(self, region: Region, count: int, turns: list[int]) -> None:
        self.stream, self.engine = region.stream.tolist(), [turn in (INWARD, OUTWARD) for turn in turns]
        self.awaits = [0] * count
        self.after: list[list[int]] = [[] for _ in range(count)]
        self.roots: list[tuple[int, int]] = []
        """(first, nodes) of the work that waits for none."""
        last: dict[int, int] = {}
        for first, final, edges in runs(region):
            if first >= count:
                break
            stream, final = self.stream[first], min(final, count - 1)
            before = {last[stream], *edges} if stream in last else set(edges)
            self._link(before, first)
            if not before:
                self.roots.append((first, final - first + 1))
            for piece in range(first, final):
                self._link({piece}, piece + 1)
            last[stream] = final

    def _link(self, before: set[int], piece: int) -> None:
        self.awaits[piece] = len(before)
        for earlier in before:
            self.after[earlier].append(piece)

    def begun(self) -> list[tuple[float, int]]:
        """(when, which) pieces wait for nothing: streams that begin by themselves do so in turn, each when the device
        has been handed the nodes of the one before."""
        nodes = np.array([min(nodes, C.HANDED) for _, nodes in self.roots])
        handed = np.append(0.0, np.cumsum(C.FORK + C.NODE_SPACING * nodes)).tolist()
        return [(when, first) for when, (first, _) in zip(handed, self.roots, strict=False)]

    def freed(self, piece: int, end: float, ready: list[float]) -> list[tuple[float, int]]:
        """(when, which) pieces can begin as this one is done at `end`."""
        free: list[tuple[float, int]] = []
        for later in self.after[piece]:
            ready[later] = max(ready[later], end + C.NODE_SPACING + self._over(piece, later))
            self.awaits[later] -= 1
            if not self.awaits[later]:
                free.append((ready[later], later))
        return free

    def _over(self, piece: int, later: int) -> float:
        """Time from the end of a piece to the start of one that waits for it, over their spacing on one stream."""
        if self.stream[later] == self.stream[piece]:
            return 0.0
        return C.HAND_OVER + (C.COPY_HAND_OVER if self.engine[later] != self.engine[piece] else 0.0)


class _Device:
    """What runs, and how fast.

    Kernels that hold more multiprocessors together than there are share some. There each takes longer by what the
    others take of the device, and by less for the multiprocessors that they hold; no longer than if all took turns at
    whole multiprocessors or it came after the one beside it that holds most. Memsets take turns, and so do copies from
    the host, and copies to it: the first that began runs on.
    A kernel beside which nodes begin ends a node's spacing later for each of them, its own included, unless it takes
    longer anyway. [measured: chains of 83 and of 52 kinds of work side by side in graphs, H200]"""

    def __init__(self, turns: list[int], held: Held, taken: Floats) -> None:
        self.taken: list[float] = taken.tolist()
        self.held: list[float] = held.device.tolist()
        self.full: list[float] = held.multiprocessor.tolist()
        self.turns = turns
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
        """(piece, end) of the work that is done by then, or has less left than the numbers for its time tell apart."""
        for piece in self.left:
            self.left[piece] -= (until - self.now) / self.slow[piece]
        self.now = until
        done = [piece for piece, left in self.left.items() if left < DONE or until + left * self.slow[piece] <= until]
        for piece in done:
            del self.left[piece]
        if done:
            self._share()
        return [(piece, max(until, self.earliest[piece])) for piece in done]

    def _share(self) -> None:
        held = sum(self.held[piece] for piece in self.left)
        taken = sum(self.held[piece] * self.full[piece] for piece in self.left)
        most, second = nlargest(2, [0.0, 0.0, *(self.held[piece] for piece in self.left)])
        running: set[int] = set()
        for piece in self.left:
            mine, full, turn = self.held[piece], self.full[piece], self.turns[piece]
            beside = C.OWN_PLACES * full * (held - mine) + (1 - C.OWN_PLACES) * (taken - full * mine)
            shared = min((held - 1) / mine, 1.0) if mine and held > 1 else 0.0
            turns = max(held, 1 + (second if mine == most else most))
            self.slow[piece] = np.inf if turn in running else min(1 + shared * beside, turns)
            running |= {turn} if turn else set()


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
