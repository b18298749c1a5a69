"""Time without a profiler: the wall clock between drained devices, and device events around single steps."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from typing import Any

import torch


class Clock:
    """Times consecutive steps in chunks. On a CUDA device events mark every step and every call of the region."""

    def __init__(self, cuda: bool) -> None:
        self.cuda = cuda
        self.chunk_ms: list[float] = []
        self.step_ms: list[float] = []
        self.region_ms: list[float] = []
        self._marks: list[Any] = []
        self._events: list[Any] = []
        self._used = 0
        self._regions: list[tuple[Any, Any]] = []
        self._began = 0.0
        self.running = False

    def drain(self) -> float:
        """Wait for the device and return the time in seconds."""
        if self.cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def start_chunk(self) -> None:
        """Begin a chunk of steps on a drained device."""
        self._began = self.drain()
        self.running = True
        self._used = 0
        self._marks = [self.mark()]
        self._regions = []

    def end_step(self) -> float:
        """Mark a step's end and return the seconds that the chunk has run, by the host's clock."""
        self._marks.append(self.mark())
        return time.perf_counter() - self._began

    def end_chunk(self) -> None:
        """Drain the device and keep the chunk's times."""
        steps = len(self._marks) - 1
        self.running = False
        self.chunk_ms.append((self.drain() - self._began) * 1e3 / steps)
        self.step_ms += [self._between(a, b) for a, b in pairwise(self._marks)]
        self.region_ms += [self._between(a, b) for a, b in self._regions]

    def region(self, began: Any) -> None:
        """Keep one call of the region that began at that mark and ends now."""
        self._regions.append((began, self.mark()))

    def mark(self) -> Any:
        """Return this moment: an event on the current stream, or the wall clock where there is no device."""
        if not self.cuda:
            return time.perf_counter()
        if self._used == len(self._events):
            self._events.append(torch.cuda.Event(enable_timing=True))
        event = self._events[self._used]
        event.record()
        self._used += 1
        return event

    def _between(self, a: Any, b: Any) -> float:
        return a.elapsed_time(b) if self.cuda else (b - a) * 1e3


def median(values: list[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None
