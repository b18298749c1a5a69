"""Operators, launches and device work are tied by what the trace says, never by guesses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.loading.traces import event, load_events
from tests.reference import reference_traces
from tracelens.loading import load_trace
from tracelens.model.events import ABSENT, Category, Role, Trace

HOST = {"pid": 7, "tid": 8}


def op(name: str, ts: int, dur: int, **args: object) -> dict[str, Any]:
    return event(name, ts, dur, args=args) | HOST


def call(name: str, ts: int, dur: int, correlation: int, **args: object) -> dict[str, Any]:
    return event(name, ts, dur, cat="cuda_runtime", args={"correlation": correlation, **args}) | HOST


def kernel(name: str, ts: int, dur: int, correlation: int, cat: str = "kernel", **args: object) -> dict[str, Any]:
    given = {"device": 0, "stream": 7, "correlation": correlation, **args}
    return event(name, ts, dur, cat=cat, pid=given["device"], tid=7, args=given)


def named(trace: Trace, rows: Iterable[int]) -> list[str]:
    return ["" if row == ABSENT else trace.names[trace.events.name[row]] for row in rows]


def launches(trace: Trace) -> list[str]:
    """Names of the launches of all device work, in file order."""
    return named(trace, trace.links.launch[trace.events.device_work()])


def test_a_kernel_belongs_to_the_call_of_its_correlation(tmp_path: Path) -> None:
    events = [
        op("aten::mm", 0, 100),
        call("cudaLaunchKernel", 10, 5, 3),
        call("cudaMemcpyAsync", 20, 5, 4),
        kernel("k", 30, 9, 3),
        kernel("c", 40, 9, 4, "gpu_memcpy"),
    ]
    trace = load_events(events, tmp_path)
    assert launches(trace) == ["cudaLaunchKernel", "cudaMemcpyAsync"]
    assert named(trace, trace.links.operator[3:]) == ["aten::mm", "aten::mm"]


def test_one_graph_launch_owns_all_its_kernels(tmp_path: Path) -> None:
    events = [call("cudaGraphLaunch", 0, 20, 5), *(kernel(f"k{n}", 10 + 10 * n, 9, 5) for n in range(300))]
    trace = load_events(events, tmp_path)
    assert launches(trace) == ["cudaGraphLaunch"] * 300


def test_device_work_without_a_call_stays_unlinked(tmp_path: Path) -> None:
    trace = load_events([call("cudaLaunchKernel", 0, 5, 3), kernel("k", 10, 5, 99), kernel("z", 20, 5, 0)], tmp_path)
    assert launches(trace) == ["", ""]
    assert named(trace, trace.links.operator[1:]) == ["", ""]


def test_a_repeated_correlation_means_the_last_launch_begun_before(tmp_path: Path) -> None:
    events = [
        call("cudaLaunchKernel", 0, 5, 3),
        kernel("a", 10, 5, 3),
        call("cudaLaunchKernelExC", 100, 5, 3),
        kernel("b", 110, 5, 3),
    ]
    assert launches(load_events(events, tmp_path)) == ["cudaLaunchKernel", "cudaLaunchKernelExC"]


def test_a_call_that_submits_wins_over_one_that_does_not(tmp_path: Path) -> None:
    events = [call("cudaLaunchKernel", 0, 5, 3), call("cudaEventQuery", 6, 2, 3), kernel("a", 10, 5, 3)]
    assert launches(load_events(events, tmp_path)) == ["cudaLaunchKernel"]


def test_processes_that_share_a_correlation_keep_to_their_own_devices(tmp_path: Path) -> None:
    def process(pid: int, device: int) -> list[dict[str, Any]]:
        calls = [
            call(f"cudaLaunchKernel{'' if pid == 1 else 'ExC'}", n * 100 + pid, 5, n) | {"pid": pid, "tid": pid}
            for n in (1, 2, 3)
        ]
        return [*calls, *(kernel(f"k{n}", n * 100 + 50, 5, n, device=device) for n in (1, 2, 3))]

    alone = [call("cudaLaunchKernel", 900, 5, 90) | {"pid": 1, "tid": 1}, kernel("k", 950, 5, 90, device=0)]
    other = [call("cudaLaunchKernelExC", 900, 5, 91) | {"pid": 2, "tid": 2}, kernel("k", 950, 5, 91, device=1)]
    trace = load_events([*process(1, 0), *process(2, 1), *alone, *other], tmp_path)
    expected = ["cudaLaunchKernel"] * 3 + ["cudaLaunchKernelExC"] * 3 + ["cudaLaunchKernel", "cudaLaunchKernelExC"]
    assert launches(trace) == expected


def test_the_operator_is_the_one_of_the_external_id_else_the_one_above(tmp_path: Path) -> None:
    events = [
        op("aten::linear", 0, 100, **{"External id": 1}),
        op("aten::addmm", 10, 50, **{"External id": 2}),
        call("cudaLaunchKernel", 20, 5, 3, **{"External id": 1}),
        call("cudaLaunchKernel", 30, 5, 4),
        kernel("by id", 40, 5, 3),
        kernel("by nesting", 50, 5, 4),
    ]
    trace = load_events(events, tmp_path)
    assert named(trace, trace.links.operator[4:]) == ["aten::linear", "aten::addmm"]


def test_parents_are_told_on_each_lane_apart(tmp_path: Path) -> None:
    events = [
        op("outer", 0, 100),
        op("inner", 10, 50),
        event("elsewhere", 20, 5, pid=7, tid=9),
        op("deep", 20, 5),
        op("next", 100, 5),
    ]
    trace = load_events(events, tmp_path)
    assert named(trace, trace.links.parent) == ["", "outer", "", "inner", ""]


def test_times_beyond_any_clock_do_no_harm(tmp_path: Path) -> None:
    events = [
        op("a", 1, 10**30),
        event("b", 4 * 10**15, 5, pid=1, tid=1),
        *(event("c", 5, 1, pid=n, tid=n) for n in range(20)),
    ]
    trace = load_events(events, tmp_path)
    assert named(trace, trace.links.parent) == [""] * 22


@pytest.mark.parametrize(
    "path",
    [path for path in reference_traces("h200") if ".replay." in path.name or ".both." in path.name],
    ids=lambda path: path.name,
)
def test_real_replays_are_owned_by_graph_launches(path: Path) -> None:
    trace = load_trace(path)
    events, launch = trace.events, trace.links.launch
    linked = (events.category == Category.KERNEL) & (launch != ABSENT)
    by_graph = events.role[launch[linked]] == Role.GRAPH_LAUNCH
    assert by_graph.any()
    assert (events.correlation[launch[linked]] == events.correlation[linked]).all()
