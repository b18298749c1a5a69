"""Time without a profiler: chunks of consecutive steps, by device events or, without a device, by the wall clock."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from typing import Any

import torch


class Clock:
    """Times consecutive steps in chunks that begin on a drained device.

    A chunk's first step refills the device's queue and is left out of its time per step, unless it is the only one.
    Only detailed chunks mark every step and every call of the region: marks cost host time.
    """

    def __init__(self, cuda: bool) -> None:
        self.cuda = cuda
        self.chunk_ms: list[float] = []
        self.wall_ms: list[float] = []
        self.step_ms: list[float] = []
        self.region_ms: list[float] = []
        self.detailed = False
        self._marks: list[Any] = []
        self._regions: list[tuple[Any, Any]] = []
        self._steps, self._began = 0, 0.0

    def drain(self) -> float:
        """Wait for the device and return the time in seconds."""
        if self.cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def start_chunk(self, detailed: bool) -> None:
        """Begin a chunk of steps on a drained device."""
        self._began = self.drain()
        self.detailed, self._steps = detailed, 0
        self._marks, self._regions = [self.mark()], []

    def end_step(self) -> float:
        """Count a step and return the seconds that the host has been in the chunk: the device may be far behind."""
        self._steps += 1
        if self.detailed or self._steps == 1:
            self._marks.append(self.mark())
        return time.perf_counter() - self._began

    @property
    def boundary(self) -> Any:
        """The mark between the last step and the one under way, in a detailed chunk."""
        return self._marks[-1]

    def end_chunk(self, timed: bool) -> float:
        """Drain the device and keep the chunk's times: a timed chunk's mean, a detailed one's single steps.

        Returns seconds per step by the wall clock, the device's work included.
        """
        if not self.detailed and self._steps > 1:
            self._marks.append(self.mark())
        wall = (self.drain() - self._began) * 1e3 / self._steps
        skipped = min(1, self._steps - 1)
        if timed:
            self.wall_ms.append(wall)
            self.chunk_ms.append(self._between(self._marks[skipped], self._marks[-1]) / (self._steps - skipped))
        if self.detailed:
            self.step_ms += [self._between(a, b) for a, b in pairwise(self._marks)]
            self.region_ms += [self._between(a, b) for a, b in self._regions]
        self.detailed = False
        return wall / 1e3

    def region(self, began: Any) -> None:
        """Keep one call of the region that began at that mark and ends now."""
        self._regions.append((began, self.mark()))

    def mark(self) -> Any:
        """Return this moment: an event on the current stream, or the wall clock where there is no device."""
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _between(self, a: Any, b: Any) -> float:
        return a.elapsed_time(b) if self.cuda else (b - a) * 1e3


def median(values: list[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None
