"""Traces of repeated steps, and what is counted of them."""

from __future__ import annotations

import numpy as np

from tests.build import TraceBuilder
from tracelens.analysis.results import Steps
from tracelens.model.events import Trace


def steps_of(lengths: list[float], builder: TraceBuilder | None = None, lag: float = 10) -> TraceBuilder:
    """ProfilerSteps of these lengths, each with two launches; their kernels start `lag` us after the call."""
    builder, start = builder or TraceBuilder(), 0.0
    for number, length in enumerate(lengths):
        builder.step(number, start, length)
        builder.launch("gemm", start + 10, 5, at=start + 10 + lag, runs=10)
        builder.launch("relu", start + 30, 5, at=start + 30 + lag, runs=10)
        start += length
    return builder


def loops(name: str, count: int = 4, builder: TraceBuilder | None = None) -> TraceBuilder:
    """A loop of 100 us that begins with an annotation of 20 us and launches two kernels after it."""
    builder = builder or TraceBuilder()
    for number in range(count):
        start = 100 * number
        builder.annotation(name.format(number), start, 20)
        builder.launch("gemm", start + 30, at=start + 50, runs=10).launch("relu", start + 40, at=start + 60, runs=10)
    return builder


def tiles_us(steps: Steps) -> list[list[float]]:
    """The counted tiles in us."""
    return (steps.window.tiles / 1000).tolist()


def owned(trace: Trace, steps: Steps, name: str) -> list[int]:
    """Owners of the events of this name, by start."""
    rows = np.flatnonzero(trace.events.name == trace.names.index(name))
    return steps.owner[rows[np.argsort(trace.events.start[rows], kind="stable")]].tolist()
