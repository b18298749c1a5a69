"""Which threads and which process a device's steps run on, and that others change nothing of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import HOST_PID, MAIN_THREAD, TraceBuilder
from tracelens.analysis import analyze
from tracelens.analysis.describe import describe
from tracelens.analysis.results import Analysis
from tracelens.analysis.threads import find_threads

LOADER = 4009
AUTOGRAD = 4001
OTHER_PID = 5000


def steps(count: int = 4) -> TraceBuilder:
    """Steps of 200 us with three operators and a kernel each, between which the host runs no operator."""
    builder = TraceBuilder()
    for number in range(count):
        at = 200 * number
        builder.step(number, at, 200)
        for begun in (at + 10, at + 70, at + 130):
            builder.op("aten::mm", begun, 30).launch("gemm", begun + 10, 5, at=begun + 20, runs=15)
    return builder


def own_threads(builder: TraceBuilder, device: int = 0) -> set[str]:
    trace = builder.trace()
    mask = find_threads(trace, device).own
    return {tid for tid, is_own in zip(trace.lanes.tid, mask, strict=False) if is_own}


def account(analysis: Analysis) -> dict[str, Any]:
    """Ns by part, but for the device's own work."""
    return {name: dict(parts) for name, parts in analysis.attribution.parts.items() if name != "kernel"}


def of_process(builder: TraceBuilder, pid: int, device: int, shift: int = 0) -> TraceBuilder:
    """The builder with its own events again as those of another process on another device."""
    for event in list(builder.events):
        args = dict(event["args"])
        for id in {"correlation", "External id"} & args.keys():
            args[id] += 100_000
        host = event["pid"] == HOST_PID
        place = {"pid": pid, "tid": pid} if host else {"pid": device, "tid": event["tid"]}
        builder.raw({**event, **place, "ts": event["ts"] + shift, "args": args if host else {**args, "device": device}})
    return builder


@pytest.mark.parametrize("kind", ["stream", "event", "device"])
def test_what_another_thread_waits_for_is_no_wait_of_the_step(kind: str) -> None:
    alone, watched = steps(), steps()
    for number in range(4):
        watched.sync(200 * number + 100, 25, kind, thread=LOADER)
    found = analyze(watched.trace())
    assert not len(found.syncs)
    assert account(found) == account(analyze(alone.trace()))
    assert "3 waits of other threads left out: no part of a step" in found.steps.notes


def test_what_another_thread_copies_on_its_own_stream_is_no_work_of_the_step() -> None:
    alone, loaded = analyze(steps().trace()), steps()
    for number in range(4):
        loaded.copy(200 * number + 2, 5, at=200 * number + 8, runs=12, stream=20, thread=LOADER)
        loaded.sync(200 * number + 8, 14, "stream", thread=LOADER)
    found = analyze(loaded.trace())
    assert found.window.tiles.tolist() == alone.window.tiles.tolist()
    assert found.kernels["name"].tolist() == ["gemm"]
    assert set(found.launches["call"]) == {"cudaLaunchKernel"}
    assert not len(found.syncs)
    assert found.attribution.parts["kernel"]["copy"] == 3 * 12_000
    assert found.attribution.parts["sync"] == {"wait": 0, "refill": 0}
    assert "3 device events and 3 waits of other threads left out: no part of a step" in found.steps.notes


def test_operators_of_other_threads_hold_nothing_up() -> None:
    busy = steps()
    for number in range(4):
        busy.op("aten::stack", 200 * number + 101, 25, thread=LOADER)
        busy.copy(200 * number + 103, 5, at=200 * number + 110, runs=2, stream=20, thread=LOADER)
    found, alone = account(analyze(busy.trace())), account(analyze(steps().trace()))
    alone["dispatch"]["python"] -= 3 * 2_000
    assert found == alone


def test_threads_that_share_a_stream_run_the_steps_together() -> None:
    builder = steps().launch("backward", 60, thread=AUTOGRAD).launch("all_reduce", 65, stream=9, thread=AUTOGRAD)
    assert own_threads(builder) == {str(MAIN_THREAD), str(AUTOGRAD)}


def test_a_thread_that_launches_on_streams_of_its_own_is_no_part() -> None:
    builder = steps().launch("decode", 60, stream=20, thread=LOADER)
    assert own_threads(builder) == {str(MAIN_THREAD)}
    assert analyze(builder.trace()).kernels["name"].tolist() == ["gemm"]


def test_where_each_stream_has_a_thread_and_none_leads_all_belong() -> None:
    builder = TraceBuilder()
    for thread in range(4):
        for at in range(0, 100, 20):
            builder.launch("gemm", at + thread, stream=thread, thread=MAIN_THREAD + thread)
    assert own_threads(builder) == {str(MAIN_THREAD + thread) for thread in range(4)}


def test_the_thread_whose_operators_launch_through_another_belongs() -> None:
    builder = TraceBuilder()
    for at in range(0, 200, 20):
        builder.op("aten::mm", at, 10)
        id = builder.events[-1]["args"]["External id"]
        builder.launch("gemm", at + 12, 3, thread=LOADER)
        builder.events[-2]["args"]["External id"] = id
    assert own_threads(builder) == {str(MAIN_THREAD), str(LOADER)}


def test_without_launches_every_thread_counts() -> None:
    builder = TraceBuilder().op("aten::mm", 0, 10).op("aten::mm", 0, 10, thread=LOADER).kernel("gemm", 5, 5)
    assert own_threads(builder) >= {str(MAIN_THREAD), str(LOADER)}
    trace = TraceBuilder().trace()
    assert find_threads(trace, 0).own.tolist() == [*([True] * len(trace.lanes)), False]


@pytest.mark.parametrize("shift", [0, 90])
def test_another_process_in_the_file_changes_nothing_of_a_devices_steps(shift: int) -> None:
    alone, merged = analyze(steps().trace()), of_process(steps(), OTHER_PID, device=1, shift=shift).trace()
    for device in (0, 1):
        found = analyze(merged, device=device)
        assert account(found) == account(alone)
        assert found.operators["count"].tolist() == alone.operators["count"].tolist() == [9]
        assert len(found.launches) == len(alone.launches) == 9
        note = f"2 processes in this file: judged is the one that launches the work of device {device}"
        assert note in found.steps.notes
    assert not any("process" in note for note in alone.steps.notes)


def test_another_process_that_compiles_does_not_make_a_window_cold() -> None:
    merged = of_process(steps(), OTHER_PID, device=1)
    frame = {"ph": "X", "cat": "cpu_op", "name": "CUDAGraphNode.record (dynamo_timed)", "tid": OTHER_PID}
    merged.raw({**frame, "pid": OTHER_PID, "ts": 210, "dur": 150, "args": {}})
    trace = merged.trace()
    failed = [{check.id for check in analyze(trace, device=d).trust.checks if not check.passed} for d in (0, 1)]
    assert "building" not in failed[0]
    assert "building" in failed[1]


@pytest.mark.parametrize(("thread", "most"), [(MAIN_THREAD, 25_000), (LOADER, 0)])
def test_a_wait_of_another_thread_saves_nothing(thread: int, most: int) -> None:
    trace = steps().sync(300, 25, "stream", thread=thread).trace()
    found = describe(trace, "s-1", analyze(trace))
    assert found["ns"] == 25_000
    assert found["saving_if_removed"]["high_ns"] == most


def test_waits_of_another_process_are_none_of_the_steps() -> None:
    merged = of_process(steps(), OTHER_PID, device=1)
    for number in range(4):
        at = 200 * number + 100
        merged.raw(
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": OTHER_PID, "tid": OTHER_PID}
            | {"ts": at, "dur": 25, "args": {"correlation": 900_000 + number}}
        )
    assert not len(analyze(merged.trace(), device=0).syncs)
    assert len(analyze(merged.trace(), device=1).syncs) == 3


def test_operators_under_another_number_than_their_calls_are_of_the_same_process() -> None:
    builder = steps()
    for event in builder.events:
        if event["cat"] == "cuda_runtime":
            event["pid"] = OTHER_PID
    found = analyze(builder.trace())
    assert found.window.kind == "profiler_step"
    assert found.operators["count"].tolist() == [9]
