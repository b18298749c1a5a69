"""Traces as a sound profiler records them, and what is found of their trust."""

from __future__ import annotations

from tests.build import TraceBuilder
from tracelens.analysis import analyze
from tracelens.analysis.results import Check, Trust


def trust(builder: TraceBuilder) -> Trust:
    """Of its steps where it has annotated ones, else of the whole trace."""
    annotated = any(event["name"].startswith("ProfilerStep#") for event in builder.events)
    return analyze(builder.trace(), span=None if annotated else "all").trust


def of(found: Trust, name: str) -> Check:
    """The check of this name."""
    return next(check for check in found.checks if check.id == name)


def check(builder: TraceBuilder, name: str) -> Check:
    return of(trust(builder), name)


def sound(builder: TraceBuilder | None = None, *, launches: int = 12, start: int = 0) -> TraceBuilder:
    """Launches with a kernel each, as a sound trace has them."""
    builder = (builder or TraceBuilder()).op("aten::mm", start, 1)
    for at in range(start, start + 20 * launches, 20):
        builder.launch("gemm", at, 5, at=at + 8, runs=10)
    return builder


def steps(lengths: list[int]) -> TraceBuilder:
    """Steps of the given lengths in us and one more, with a kernel at the start and one at the end of each."""
    builder, t = TraceBuilder().op("aten::mm", 0, 1), 0
    for number, length in enumerate([*lengths, lengths[-1]]):
        builder.step(number, t, length - 1)
        builder.launch("gemm", t + 1, 5, at=t + 10, runs=10).launch(
            "gemm", t + length - 30, 5, at=t + length - 20, runs=10
        )
        t += length
    return builder
