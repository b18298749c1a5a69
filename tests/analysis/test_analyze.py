from __future__ import annotations

import pytest

from tests.build import TraceBuilder
from tracelens.analysis import analyze
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT

OTHER_THREAD = 4009


def two_devices() -> TraceBuilder:
    return (
        TraceBuilder()
        .device_name(0, "NVIDIA H200")
        .device_name(1, "NVIDIA H200")
        .device_name(2, "NVIDIA H200")
        .launch("a", 0, 5, at=10, runs=10, device=0)
        .launch("b", 20, 5, at=30, runs=50, device=1)
        .launch("c", 100, 5, at=110, runs=10, device=0)
    )


def test_the_other_devices_that_worked_are_named() -> None:
    trace = two_devices().launch("d", 22, 5, at=40, runs=80, device=2, thread=OTHER_THREAD).trace()
    (note,) = [note for note in analyze(trace, device=2).steps.notes if "device" in note]
    assert note == "only device 2 is judged; devices 0, 1 worked as well: choose with --device 0"
    (note,) = [note for note in analyze(two_devices().trace()).steps.notes if "device" in note]
    assert note == "only what device 1 does is counted: the same steps launch work on device 0 as well"


def test_the_busiest_device_is_analysed_by_default() -> None:
    trace = two_devices().trace()
    assert analyze(trace).device == 1
    assert analyze(trace, device=0).kernels["name"].tolist() == ["a", "c"]


def test_a_device_that_ran_nothing_is_analysed_and_one_that_is_not_there_refused() -> None:
    trace = two_devices().trace()
    idle = analyze(trace, device=2)
    assert (len(idle.kernels), idle.trust.level) == (0, "unusable")
    with pytest.raises(UsageError, match="no device 3; its devices are 0, 1, 2"):
        analyze(trace, device=3)


@pytest.mark.parametrize(
    "builder",
    [
        TraceBuilder(),
        TraceBuilder().op("aten::add", 0, 10),
        TraceBuilder().step(0, 0, 10).call("cudaLaunchKernel", 2, 3),
    ],
    ids=["empty", "operators", "launch"],
)
def test_a_trace_without_device_work_gives_an_empty_analysis(builder: TraceBuilder) -> None:
    analysis = analyze(builder.trace())
    assert (analysis.device, analysis.form, analysis.trust.level) == (ABSENT, "unknown", "unusable")
    assert analysis.attribution.window_ns == 0
    assert len(analysis.kernels) == len(analysis.gaps) == 0


def test_a_span_and_a_named_step_choose_the_window() -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.annotation("train", number * 100, 90).launch("gemm", number * 100 + 10, 5)
    trace = builder.trace()
    assert analyze(trace, step="train").window.kind == "annotation"
    assert analyze(trace, span=(0, 150_000)).window.tiles.tolist() == [[0, 150_000]]
    with pytest.raises(UsageError):
        analyze(trace, step="nothing of that name")
