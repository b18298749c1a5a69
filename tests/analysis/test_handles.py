from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from tests.build import TraceBuilder
from tracelens.analysis import analyze, describe
from tracelens.analysis.handles import all_gaps, handles_of, resolve, rows_behind
from tracelens.errors import UsageError
from tracelens.loading import load_trace
from tracelens.model.events import ABSENT

US = 1000


def small() -> TraceBuilder:
    """Two launches under one operator, in file order that is not start order, and a sync."""
    return (
        TraceBuilder()
        .python("model.py(41): forward", 0, 200)
        .op("aten::mm", 0, 90)
        .launch("second", 40, 5, at=60, runs=10)
        .launch("first", 10, 5, at=20, runs=10)
        .sync(80, 5)
    )


def test_events_are_numbered_from_one_in_start_order() -> None:
    trace = small().trace()
    work = rows_behind(trace, "k")
    assert [trace.names[name] for name in trace.events.name[work].tolist()] == ["first", "second"]
    assert handles_of(trace, "k", work).tolist() == ["k-1", "k-2"]
    assert handles_of(trace, "l", trace.links.launch[work]).tolist() == ["l-1", "l-2"]


def test_an_event_that_bears_no_such_handle_has_none() -> None:
    trace = small().trace()
    work = rows_behind(trace, "k")
    assert handles_of(trace, "o", np.append(work, ABSENT)).tolist() == [None, None, None]


@pytest.mark.parametrize("prefix", ["k", "l", "o", "s"])
def test_a_handle_resolves_to_the_event_it_was_made_for(prefix: str) -> None:
    trace = small().trace()
    rows = rows_behind(trace, prefix)
    assert [resolve(trace, handle).row for handle in handles_of(trace, prefix, rows)] == rows.tolist()


def test_handles_do_not_depend_on_the_window() -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 100, 90).launch("gemm", number * 100 + 10, 5).sync(number * 100 + 40, 5)
    trace = builder.trace()
    steps, whole = analyze(trace), analyze(trace, span="all")
    for name in ("gaps", "syncs", "launches"):
        by_row = getattr(whole, name).set_index("row")["handle"]
        part = getattr(steps, name)
        assert part["handle"].tolist() == by_row[part["row"]].tolist()
        assert len(part)
    assert len(steps.launches) < len(whole.launches)


def test_gaps_of_all_devices_are_numbered_together() -> None:
    trace = (
        TraceBuilder()
        .launch("a", 0, 5, at=10, runs=10, device=0)
        .launch("b", 20, 5, at=30, runs=10, device=1)
        .launch("c", 50, 5, at=60, runs=10, device=0)
        .launch("d", 80, 5, at=90, runs=20, device=1)
        .trace()
    )
    gaps = all_gaps(trace)
    starts = [gaps.by_device[device][1].start[index] for device, index in zip(gaps.device, gaps.index, strict=True)]
    assert starts == sorted(starts)
    numbers = sorted(int(handle[2:]) for device in (0, 1) for handle in gaps.handles(device))
    assert numbers == list(range(1, len(gaps.index) + 1))
    for device in (0, 1):
        for index, handle in enumerate(gaps.handles(device)):
            target = resolve(trace, handle)
            assert (target.device, target.gap) == (device, index)


@pytest.mark.parametrize(
    ("handle", "message"),
    [
        ("k-3", "the trace has no k-3; its device events are k-1 to k-2"),
        ("k-0", "the trace has no k-0; its device events are k-1 to k-2"),
        ("s-9", "the trace has no s-9; its sync points are s-1 to s-1"),
        ("x-1", "'x-1' is no handle"),
        ("k1", "'k1' is no handle"),
        ("", "'' is no handle"),
        ("k-99999999999999999999", "is no handle"),
    ],
)
def test_an_unknown_handle_is_refused_with_what_there_is(handle: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        resolve(small().trace(), handle)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_trace_without_such_events_says_so() -> None:
    with pytest.raises(UsageError, match="no g-1; it has no gaps"):
        resolve(TraceBuilder().trace(), "g-1")
    with pytest.raises(UsageError, match="no s-1; it has no sync points"):
        resolve(TraceBuilder().trace(), "s-1")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small().write(tmp_path_factory.mktemp("traces") / "small.json")


def test_a_device_event_is_told_with_its_launch_and_callers(path: Path) -> None:
    told = describe(load_trace(path), "k-1")
    assert (told["handle"], told["kind"], told["name"]) == ("k-1", "device event", "first")
    assert (told["start_ns"], told["ns"], told["device"], told["stream"]) == (20 * US, 10 * US, 0, 7)
    assert told["where"] == "model.py:41"
    assert told["called_by"] == ["o-1 aten::mm", "model.py(41): forward"]
    assert told["launch"]["call"] == "l-1 cudaLaunchKernel"
    assert told["launch"]["queued_ns"] == 5 * US
    assert told["arguments"]["context"] == 1


def test_an_unlinked_device_event_says_that_its_launch_is_missing() -> None:
    told = describe(TraceBuilder().kernel("lost", 5, 5).trace(), "k-1")
    assert told["launch"] == "no launch record"
    assert told["where"] is None


def test_a_launch_is_told_with_what_it_launched(path: Path) -> None:
    told = describe(load_trace(path), "l-2")
    assert told["launched"] == ["k-2 second"]
    assert told["latency_ns"] == 15 * US
    assert told["thread"].startswith("4000")


def test_many_kernels_of_one_launch_are_counted_beyond_the_first() -> None:
    trace = TraceBuilder().launch_graph(0, 5, [("node", 10 + 2 * i, 1) for i in range(50)]).trace()
    told = describe(trace, "l-1")
    assert told["device_events"] == 50
    assert told["launched"][-1] == "and 30 more"
    assert len(told["launched"]) == 21


def test_an_operator_is_told_with_its_calls_and_work(path: Path) -> None:
    told = describe(load_trace(path), "o-1")
    assert told["self_ns"] == 90 * US
    assert told["device_ns"] == 20 * US
    assert sorted(told["calls"]) == ["l-1 cudaLaunchKernel", "l-2 cudaLaunchKernel", "s-1 cudaDeviceSynchronize"]
    assert told["launched"] == ["k-1 first", "k-2 second"]


def test_a_sync_is_told_with_what_removing_it_saves(path: Path) -> None:
    told = describe(load_trace(path), "s-1")
    assert told["busy_overlap_ns"] == 0
    assert told["saving_if_removed"]["low_ns"] <= told["saving_if_removed"]["high_ns"] <= 5 * US


def test_a_sync_costs_what_its_row_of_the_table_says() -> None:
    built = TraceBuilder()
    for step in range(4):
        built.step(step, start=200 * step, dur=200)
        for part in range(2):
            at = 200 * step + 90 * part
            built.launch("work", start=at, dur=5, at=at + 10, runs=20)
            built.sync(start=at + 5, dur=25 + 10 * part)
    trace = built.trace()
    assert len(analyze(trace).syncs) > 2
    for analysis in (None, analyze(trace, span=(0, 300 * US)), analyze(trace, span=(105 * US, 700 * US))):
        rows = (analysis or analyze(trace)).syncs
        for row in rows.itertuples():
            told = describe(trace, row.handle, analysis)["saving_if_removed"]
            assert told == {"low_ns": row.saving_low_ns, "high_ns": row.saving_high_ns}
        assert rows.saving_high_ns.max() > 0


def test_a_gap_is_told_by_its_pieces(path: Path) -> None:
    told = describe(load_trace(path), "g-2")
    assert (told["start_ns"], told["ns"]) == (30 * US, 30 * US)
    assert sum(told["pieces"].values()) == told["ns"]
    assert told["pieces"] == {"launch.latency_ns": 15 * US, "dispatch.framework_ns": 10 * US, "launch.api_ns": 5 * US}
    assert (told["before"], told["after"]) == ("k-1 first", "k-2 second")
    assert told["launch"] == "l-2 cudaLaunchKernel"
    assert told["cause"] == "launch.latency"
    trace = load_trace(path)
    assert describe(trace, "g-2", analyze(trace)) == told


def test_what_is_told_is_plain_json_and_survives_a_vanished_file(path: Path) -> None:
    trace = small().trace()
    for handle in ("k-1", "l-1", "o-1", "s-1", "g-1", "g-3"):
        json.dumps(describe(trace, handle))
    assert "cannot be read again" in describe(trace, "k-1")["arguments"]


def test_thousands_of_devices_are_numbered_in_one_pass() -> None:
    builder = TraceBuilder()
    for number in range(1500):
        builder.launch("k", 10 * number, 2, at=10 * number + 5, runs=3, device=number)
    trace = builder.trace()
    began = time.process_time()
    gaps = all_gaps(trace)
    assert time.process_time() - began < 2
    assert len(gaps.by_device) == 1500
    for device in (0, 700, 1499):
        own = gaps.by_device[device][1]
        assert gaps.index[gaps.device == device].tolist() == list(range(len(own.start)))
