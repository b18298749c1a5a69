"""Recordings that cannot be taken at their word."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.advice.cases.beats import slow_launch
from tests.advice.cases.case import Case, case, share, step_ms
from tests.advice.cases.host import MIXED
from tests.advice.story import at_step, gemm, told
from tests.build import TraceBuilder
from tracelens.loading import load_trace
from tracelens.model.events import Trace


def says(words: str) -> object:
    """A failed check that says the words."""
    return lambda a, d: any(words in check.message for check in a.trust.checks if not check.passed)


def no_kernels() -> TraceBuilder:
    """Operators and launches, and nothing on the device."""
    trace = TraceBuilder().device_name(0, "NVIDIA A100")
    for at in range(40):
        trace.op("aten::mm", 50 * at, 40).call("cudaLaunchKernel", 50 * at + 20, 5)
    return trace


def no_device() -> TraceBuilder:
    """Operators alone, although the process has a device."""
    trace = TraceBuilder(metadata={"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}]})
    for at in range(40):
        trace.op("aten::mm", 50 * at, 40)
    return trace


def orphans() -> TraceBuilder:
    """180 ms of kernels queued before the profiler started, then the steps."""
    trace = told(*MIXED)
    for at in range(60):
        trace.kernel("void at::native::vectorized_elementwise_kernel<4, add>", -9000 + 140 * at, 139)
    return trace


def early_kernels() -> TraceBuilder:
    """Kernels that start before their launch."""
    trace = TraceBuilder()
    for at in range(40):
        trace.op("aten::mm", 50 * at + 20, 25).launch("gemm", 50 * at + 30, 5, at=50 * at + 22, runs=6)
    return trace


def lost_graphs(kept: int) -> TraceBuilder:
    """Replays of which few have kernels."""
    trace = TraceBuilder()
    for step in range(20):
        nodes = [("nvjet", 500 * step + 30 + 10 * at, 9.0) for at in range(40)] if step % 20 < kept else []
        trace.step(step, 500 * step, 499).launch_graph(500 * step + 5, 10, nodes)
    return trace


def late_burst() -> TraceBuilder:
    """Steps of which two kernels are recorded in time, and the others of all steps in one burst much later."""
    trace = TraceBuilder("hip")
    for step in range(6):
        trace.step(step, 200 * step, 199)
        for at in range(12):
            begun = 200 * step + 8 * at
            runs = begun + 8 if at < 2 else 9000 + 11 * (12 * step + at)
            trace.op("aten::mm", begun, 7).launch("Cijk_gemm", begun + 1, 3, at=runs, runs=5)
    return trace


def stalled() -> TraceBuilder:
    """A copy call of 463 ms, and a kernel launched at its beginning that starts at its end."""
    trace = TraceBuilder("hip")
    for at in range(40):
        begun = 20 * at + (463_000 if at >= 20 else 0)
        trace.op("aten::mm", begun, 15).launch("Cijk_gemm", begun + 5, 4, runs=8)
    trace.op("aten::mm", 402, 10).launch("Cijk_gemm", 404, 4, at=463_380, runs=8)
    return trace.call("hipMemcpyWithStream", 420, 462_900)


def queued() -> TraceBuilder:
    """Hundreds of launches in the queue, and the device idle for long in between."""
    trace = TraceBuilder()
    for at in range(300):
        trace.op("aten::mm", 8 * at, 7).launch("nvjet", 8 * at + 1, 4, at=20 + 60 * at, runs=20)
    return trace.sync(2500, 16_000)


def model_in_the_making() -> TraceBuilder:
    """Modules are built and filled, then their weights copied."""
    trace = TraceBuilder()
    for at in range(60):
        begun = 100 * at
        trace.python("torch/nn/modules/module.py(552): register_parameter", begun, 20)
        trace.python("torch/nn/init.py(144): uniform_", begun + 25, 60)
        trace.op("aten::uniform_", begun + 30, 50).launch(
            "distribution_elementwise_grid_stride_kernel", begun + 40, 5, runs=70
        )
    return trace


class Damaged(TraceBuilder):
    """A file with a raw control character in a name, as early versions wrote."""

    def trace(self) -> Trace:
        """The document, damaged, as the loader reads it."""
        data = json.dumps(self.document()).replace("vectorized_elementwise_kernel<4, add>", "vectorized\x01kernel", 3)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(data)
            return load_trace(path)


def damaged() -> TraceBuilder:
    whole, broken = told(*MIXED), Damaged()
    broken.events, broken.metadata = whole.events, whole.metadata
    return broken


CASES: Final[list[Case]] = [
    case(
        "HazyResearch/safari#8",
        "a first launch of 100 s",
        at_step(2, slow_launch(100e6, kernel="fft_conv")),
        *[gemm(50)] * 20,
        verdict="abstain",
        tells="cold_start",
        fails="loading",
    ),
    case(
        "sgl-project/sglang#35711",
        "the first use of each kernel loads its module",
        *[at_step(2, slow_launch(3000, kernel=f"kernel_{at}")) for at in range(4)],
        *[gemm(50)] * 20,
        verdict="abstain",
        tells="cold_start",
        fails="loading",
    ),
    Case(
        "pytorch/pytorch#192021",
        "kernels start before their launch",
        early_kernels,
        "abstain|neither",
        fails="clock",
    ),
    Case(
        "pytorch/pytorch#168920",
        "kernels queued before the profiler began",
        orphans,
        "both",
        also=lambda a, d: share(a, "kernel") < 0.2 and step_ms(d, "replay") < 1,
    ),
    Case(
        "pytorch/pytorch#65393",
        "no device at all: CUPTI has no privileges",
        no_device,
        "abstain",
        fails="device_events",
        also=says("RestrictProfilingToAdminUsers"),
    ),  # type: ignore[arg-type]
    Case(
        "cupti_profiler of HTA",
        "launches and no kernels",
        no_kernels,
        "abstain",
        fails="device_events",
        also=says("no other profiler"),
    ),  # type: ignore[arg-type]
    Case(
        "Hyperloom#1121",
        "one replay in twenty recorded: 99 % idle",
        lambda: lost_graphs(1),
        "abstain",
        tells="lost_graph_kernels",
        fails="graph_launches",
        silent="host_bound_dispatch",
    ),
    Case(
        "sgl-project/sglang#31545",
        "kernels of several steps in one burst later",
        late_burst,
        "abstain",
        fails="deferred",
        silent="host_bound_dispatch",
    ),
    Case(
        "Qwen3-8B decode on an MI300",
        "463 ms between a launch and its kernel, on an idle device",
        stalled,
        "abstain",
        tells="queued_idle",
        fails="stalled",
        silent="host_bound_dispatch",
    ),
    Case(
        "negative_queue_length of HTA",
        "64 % idle with hundreds of launches queued",
        queued,
        "abstain",
        tells="queued_idle",
        fails="stalled",
        silent="host_bound_dispatch",
    ),
    Case(
        "Qwen1.5-0.5B on an H100",
        "the model is built inside the window",
        model_in_the_making,
        "abstain|neither|compile|replay|both",
        tells="model_setup",
    ),
    Case(
        "pytorch/pytorch#130622",
        "control characters in names, files of gigabytes",
        damaged,
        "both",
        also=lambda a, d: len(a.trace.repairs) > 0,
    ),
]
