"""Traces of repeated steps, told as the operators of one step: the host's and the device's clocks follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.build import TraceBuilder
from tracelens.advice.device.facts import Facts, facts_of
from tracelens.analysis import analyze
from tracelens.analysis.results import Analysis

Given: TypeAlias = Any
"""Whatever the builder takes."""
STEPS = 4
LATENCY = 4.0
SPACING = 1.0
H200 = {
    "name": "NVIDIA H200",
    "numSms": 132,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerMultiprocessor": 65536,
    "sharedMemPerMultiprocessor": 233472,
}


@dataclass
class Clock:
    """Where host and device are while a story is told, in us."""

    host: float = 0.0
    streams: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def drained(self) -> float:
        """When every stream is done."""
        return max(self.streams.values(), default=0.0)


Beat = Callable[[TraceBuilder, Clock, int], None]
"""Adds something to the trace in a given step and moves the clock."""


def op(name: str, runs: float, *, kernel: str = "", host: float = 20.0, stream: int = 7, **args: Given) -> Beat:
    """An operator that launches one kernel."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        blocks = {
            "grid": args.get("grid", [4096, 1, 1]),
            "block": [128, 1, 1],
            "registers per thread": args.get("registers", 32),
        }
        given = {key: value for key, value in args.items() if key not in ("grid", "registers")}
        trace.op(name, clock.host, host, **given)
        launched = clock.host + host - 1
        starts = max(clock.streams.get(stream, 0.0) + SPACING, launched + LATENCY)
        where = {"at": starts, "runs": runs, "stream": stream, **blocks}
        trace.launch(kernel or kernel_of(name), launched - 5.2, 5.2, **where)
        clock.host += host + 1
        clock.streams[stream] = starts + runs

    return tell


def kernel_of(name: str) -> str:
    """A kernel name of the kind that eager PyTorch uses for an operator."""
    if name in ("aten::mm", "aten::addmm"):
        return "nvjet_sm90_gemm_256x128"
    return f"void at::native::vectorized_elementwise_kernel<4, {name.removeprefix('aten::')}>"


def pointwise(runs: float = 1.0, size: int = 1 << 10, **args: Given) -> Beat:
    """A float32 addition of two tensors of `size` elements."""
    shapes = {"shapes": [[size], [size], []], "dtypes": ["float", "float", "Scalar"], "concrete": ["", "", "1"]}
    return op("aten::add", runs, **{**shapes, **args})


def gemm(runs: float, size: int = 4096, **args: Given) -> Beat:
    """A half-precision matrix product."""
    return op("aten::mm", runs, shapes=[[size, size], [size, size]], dtypes=["c10::Half"] * 2, **args)


def item(only: int | None = None) -> Beat:
    """A value read on the host, in every step or in one: a copy and a wait for the device."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        if only is not None and step != only:
            return
        begun, copied = clock.host, max(clock.drained, clock.host + 10)
        trace.op("aten::_local_scalar_dense", begun, copied + 6 - begun, shapes=[[]])
        trace.copy(begun + 1, 4, at=copied, runs=1, kind="DtoH (Device -> Pinned)")
        trace.sync(begun + 6, copied - begun, "stream")
        clock.host = copied + 8

    return tell


def call(name: str, dur: float = 5.0) -> Beat:
    """A runtime call that submits nothing."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.call(name, clock.host, dur)
        clock.host += dur + 1

    return tell


def fork() -> Sequence[Beat]:
    """Stream.wait_stream: an event recorded and waited for at once."""
    return call("cudaEventRecord", 1), call("cudaStreamWaitEvent", 1)


def upload(kind: str = "HtoD (Pageable -> Device)", runs: float = 20) -> Beat:
    """A copy from the host."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.drained, clock.host + 6)
        trace.copy(clock.host, 5, at=starts, runs=runs, kind=kind)
        clock.host += 6
        clock.streams[7] = starts + runs

    return tell


def at_step(step: int, beat: Beat) -> Beat:
    """A beat of one step only."""
    return lambda trace, clock, now: beat(trace, clock, now) if now == step else None


def told(*beats: Beat, steps: int = STEPS, pause: float = 50.0, **metadata: Given) -> TraceBuilder:
    """A trace of steps that all tell the same."""
    device = {"deviceProperties": [{"id": 0, **H200}]}
    trace, clock = TraceBuilder(metadata={**device, **metadata}), Clock()
    for step in range(steps):
        begun = clock.host
        for beat in beats:
            beat(trace, clock, step)
        clock.host += pause
        if step == steps - 1:
            trace.sync(clock.host, max(clock.drained - clock.host, 0) + 5)
            clock.host = max(clock.drained, clock.host) + 6
        trace.step(step, begun, clock.host - begun)
        clock.host += 1
    return trace


def analysis(*beats: Beat, **options: Given) -> Analysis:
    """The analysis of such a trace."""
    return analyze(told(*beats, **options).trace())


def facts(*beats: Beat, **options: Given) -> Facts:
    """What the prediction derives from such a trace's step."""
    found = facts_of(analysis(*beats, **options))
    assert found is not None
    return found
