"""Whether a trace holds the times, the operators and the one process that it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.recordings import check, of, sound, trust
from tests.build import HOST_PID, TraceBuilder
from tracelens.analysis import analyze
from tracelens.analysis.results import Trust
from tracelens.loading import load_trace


def in_unit(path: Path, factor: float, *, host: bool = True) -> Trust:
    """Of a sound trace whose times are not in microseconds but in a unit so many times as long."""
    builder = sound(launches=30)
    for event in builder.events:
        event["ts"], event["dur"] = event["ts"] / factor, event["dur"] / factor
    kept = [event for event in builder.events if host or event["cat"] in ("kernel", "cuda_runtime")]
    path.write_text(json.dumps({"traceEvents": kept}))
    return analyze(load_trace(path), span="all").trust


@pytest.mark.parametrize(("factor", "id"), [(1000, "short_launches"), (0.001, "long_calls")])
@pytest.mark.parametrize("host", [True, False], ids=["whole", "calls alone"])
def test_times_in_another_unit_make_a_trace_unusable(tmp_path: Path, factor: float, id: str, host: bool) -> None:
    found = in_unit(tmp_path / "trace.json", factor, host=host)
    assert found.level == "unusable"
    assert found.checks[0].id == id
    assert "not in microseconds" in found.checks[0].message


def test_a_fast_or_a_slow_host_is_no_other_unit(tmp_path: Path) -> None:
    for factor in (4, 1 / 8):
        assert in_unit(tmp_path / "trace.json", factor).level == "ok"
    blocked = TraceBuilder()
    for at in range(0, 60_000, 3000):
        blocked.op("aten::t", at, 2).op("aten::mm", at + 5, 2920)
        blocked.launch("gemm", at + 10, 2900, at=at + 20, runs=2890)
    assert check(blocked, "long_calls").passed


def test_without_operators_trust_is_lower() -> None:
    builder = TraceBuilder()
    for at in range(0, 400, 20):
        builder.launch("gemm", at, 5, at=at + 8, runs=10)
    found = trust(builder)
    assert found.level == "degraded"
    assert [one.id for one in found.checks if not one.passed] == ["no_operators"]
    assert trust(builder.op("aten::mm", 400, 5)).level == "ok"


def test_a_replayed_step_needs_no_operators() -> None:
    builder = TraceBuilder()
    for at in range(0, 400, 40):
        builder.launch_graph(at, 8, [("gemm", at + 10, 9), ("relu", at + 20, 9)])
    found = of(trust(builder), "no_operators")
    assert (found.passed, found.value) == (True, None)


def of_ranks(*, device: int, correlation: int) -> TraceBuilder:
    """A sound trace, and again as of another process: of so much higher device and correlation numbers."""
    builder = sound(launches=20)
    for event in list(builder.events):
        args = {**event["args"]}
        args |= {"correlation": args["correlation"] + correlation} if "correlation" in args else {}
        place = {"pid": 5000} if event["pid"] == HOST_PID else {"pid": event["pid"] + device}
        args |= {"device": device} if event["cat"] == "kernel" else {}
        builder.raw({**event, **place, "ts": event["ts"] + 2, "args": args})
    return builder


@pytest.mark.parametrize(("device", "correlation"), [(0, 1000), (0, 0)])
def test_processes_that_cannot_be_told_apart_make_a_trace_unusable(device: int, correlation: int) -> None:
    found = trust(of_ranks(device=device, correlation=correlation))
    assert found.level == "unusable"
    assert found.checks[0].id == "merged"
    assert "give the file of one" in found.checks[0].message


def test_processes_with_numbers_of_their_own_are_no_reason_to_distrust() -> None:
    assert check(of_ranks(device=1, correlation=1000), "merged").value == 0
    assert check(sound(), "merged").value == 0


def test_idle_time_with_work_launched_is_told_by_the_names_of_the_account() -> None:
    builder = sound(launches=20).launch("late", 405, 5, at=600, runs=10)
    found = check(builder, "stalled")
    assert not found.passed
    assert "device.dependency and unknown.stalled" in found.message
