"""Beats of the cases' stories, beside those of tests.advice.story."""

from __future__ import annotations

from collections.abc import Sequence

from tests.advice.story import LATENCY, SPACING, Beat, Clock, Given, item, op, pointwise
from tests.build import TraceBuilder

ADD = "void at::native::vectorized_elementwise_kernel<4, add>"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def pause(us: float, frame: str = "") -> Beat:
    """The host does something that is no operator, in a Python frame or in none that is recorded."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        if frame:
            trace.python(frame, clock.host, us)
        clock.host += us + 1

    return tell


def together(*beats: Beat) -> Beat:
    """Several beats as one."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        for beat in beats:
            beat(trace, clock, step)

    return tell


def inside(name: str, *beats: Beat, kind: str = "op") -> Beat:
    """Beats within an operator, an "annotation" or a "python" frame."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        begun = clock.host
        clock.host += 1
        together(*beats)(trace, clock, step)
        span = {"op": trace.op, "annotation": trace.annotation, "python": trace.python}[kind]
        span(name, begun, clock.host + 1 - begun)
        clock.host += 2

    return tell


def on_host(name: str, us: float, kind: str = "op") -> Beat:
    """An operator, annotation or frame that launches nothing."""
    return inside(name, pause(us), kind=kind)


def graph(nodes: int = 40, each: float = 10.0, *, call: float = 15.0, name: str = "nvjet_gemm", **args: Given) -> Beat:
    """A graph launch and its nodes."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        first = max(clock.drained + SPACING, clock.host + call + LATENCY)
        work = [(name, first + at * (each + SPACING), each) for at in range(nodes)]
        trace.launch_graph(clock.host, call, work, **args)
        clock.streams[7] = first + nodes * (each + SPACING)
        clock.host += call + 1

    return tell


def slow_launch(us: float, runs: float = 5.0, kernel: str = ADD) -> Beat:
    """A launch call that takes long: it loads a module, or waits for room in a full queue."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.drained + SPACING, clock.host + us + LATENCY)
        trace.op("aten::add", clock.host, us + 4)
        trace.launch(kernel, clock.host + 2, us, at=starts, runs=runs)
        clock.streams[7] = starts + runs
        clock.host += us + 5

    return tell


def collective(runs: float, elements: int = 1 << 24, kernel: str = NCCL) -> Beat:
    """A collective of float32 elements."""
    return op("c10d::allreduce_", runs, kernel=kernel, shapes=[[[elements]]], dtypes=[""])


def read_back(runs: float = 2.0, kind: str = "DtoH (Device -> Pageable)", operator: str = "aten::copy_") -> Beat:
    """A copy whose call returns only when the copy is done: no synchronisation is recorded."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.drained, clock.host + 8)
        ends = starts + runs + 3
        trace.op(operator, clock.host, ends + 1 - clock.host)
        trace.copy(clock.host + 2, ends - clock.host - 2, at=starts, runs=runs, kind=kind)
        clock.host = ends + 3

    return tell


def wait_in(operator: str) -> Beat:
    """An operator that copies a value and waits for the device."""
    return inside(operator, item())


def drained(wait: Beat, times: int) -> list[Beat]:
    """Stretches of short kernels, a wait for the device after each but the last."""
    short = [pointwise(3, host=30)] * 8
    return [*[*short, wait] * times, *short]


def optimizer(*beats: Beat, name: str = "AdamW") -> Beat:
    """An optimizer's step."""
    return inside(f"Optimizer.step#{name}.step", *beats, kind="annotation")


def data_parallel(*beats: Beat) -> Beat:
    """A forward pass under DistributedDataParallel."""
    return inside("DistributedDataParallel.forward", *beats, kind="annotation")


def copied(runs: float = 2.0, host: float = 12.0) -> Beat:
    """A copy from one tensor to another, by a kernel."""
    return op("aten::copy_", runs, kernel="void at::native::direct_copy_kernel", host=host)


def served(*work: Beat, then: Sequence[Beat] = ()) -> list[Beat]:
    """Work whose result is read on the host, and what the host does with it."""
    return [*work, read_back(), *then]


def loader(us: float) -> Beat:
    """The next batch is fetched."""
    return on_host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", us, "annotation")
