"""Columns hold the file's own values: exact times, ids of any kind, and nothing is dropped."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loading.traces import columns_of, event, kinds, kineto, load_bytes, load_events
from tests.reference import reference_traces
from tracelens.loading import load_trace
from tracelens.loading.numbers import nanoseconds
from tracelens.model.events import ABSENT, NO_STREAM, Category, Device

KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100, "dur": 5}


@given(st.integers(0, 10**15), st.integers(0, 999))
def test_text_of_a_time_is_exact(whole: int, part: int) -> None:
    exact = whole * 1000 + part
    assert nanoseconds(f"{whole}.{part:03d}") == nanoseconds(Decimal(f"{whole}.{part:03d}")) == exact
    if whole < 2**42:
        assert nanoseconds(float(f"{whole}.{part:03d}")) == exact


@pytest.mark.parametrize(
    "start", ["1752215573960499.123", "7764763351053.764", "0.001", "1752215573960499", '"12345.678"', "1.5e3"]
)
def test_nanoseconds_survive(start: str, tmp_path: Path) -> None:
    text = f'{{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": {start}, "dur": 0.007}}'
    trace = load_events([text], tmp_path)
    assert trace.base_ns == int(Decimal(start.strip('"')) * 1000)
    assert trace.events.duration.tolist() == [7]


@pytest.mark.parametrize(
    ("pid", "tid"),
    [(1, 2), ("Spans", "PyTorch Profiler"), (-1, -1107294656), ("25738", "stream 7"), ("", ""), (2**40, 2**63)],
)
def test_lanes_are_words_or_any_number(pid: object, tid: object, tmp_path: Path) -> None:
    trace = load_events([event(pid=pid, tid=tid), event()], tmp_path)
    lane = int(trace.events.lane[0])
    assert (trace.lanes.pid[lane], trace.lanes.tid[lane]) == (str(pid), str(tid))


def test_lanes_take_their_names_from_metadata_events(tmp_path: Path) -> None:
    named = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 1, "args": {"name": "python3"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "ts": 1, "args": {"name": "thread 8 (main)"}},
    ]
    trace = load_events([event(), *named, event(tid=9)], tmp_path)
    spelled = dict(zip(trace.lanes.tid, zip(trace.lanes.process, trace.lanes.thread, strict=True), strict=True))
    assert spelled == {"8": ("python3", "thread 8 (main)"), "0": ("python3", ""), "9": ("python3", "")}


@pytest.mark.parametrize("among", [{}, {"ts": 1.5e30}], ids=["usual events", "an odd one"])
def test_the_last_name_of_a_lane_counts(among: dict[str, Any], tmp_path: Path) -> None:
    label = {"args": {"name": "first"}}
    named = [
        *({"ph": "M", "name": "process_name", "pid": 7, "tid": 0} | args for args in (label, {"args": {"name": 5}})),
        *({"ph": "M", "name": "thread_name", "pid": "a b", "tid": -1} | args for args in (label, {}, {"args": None})),
    ]
    lanes = load_events([event(), *named, event(**among)], tmp_path).lanes
    assert lanes.pid == ("7", "7", "a b")
    assert lanes.tid == ("8", "0", "-1")
    assert lanes.process == ("5", "5", "")
    assert lanes.thread == ("", "", "")


def test_odd_events_are_kept(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"ph": "X", "name": "no cat", "pid": 1, "tid": 1, "ts": 5},
        {"ph": "?"},
        {"ph": "b", "cat": "mine", "id": "0x1", "ts": 5},
    ]
    events = load_events([event(), *odd], tmp_path).events
    assert len(events) == 4
    assert events.category[1:].tolist() == [Category.OTHER] * 3


@pytest.mark.parametrize(
    ("phase", "cat", "name", "category"),
    [
        ("X", "cpu_op", "a", Category.OPERATOR),
        ("X", "Operator", "a", Category.OPERATOR),
        ("X", "Kernel", "a", Category.KERNEL),
        ("X", "cuda_driver", "cuLaunchKernel", Category.RUNTIME),
        ("X", "mtia_ccp_events", "a", Category.KERNEL),
        ("X", "Trace", "PyTorch Profiler (0)", Category.SPAN),
        ("X", "gpu_user_annotation", "step", Category.DEVICE_ANNOTATION),
        ("X", "overhead", "Buffer Flush", Category.OVERHEAD),
        ("X", "something new", "a", Category.OTHER),
        ("s", "async_cpu_to_gpu", "a", Category.FLOW),
        ("f", "", "a", Category.FLOW),
        ("M", "", "process_labels", Category.METADATA),
        ("C", "", "GPU 0 Utilization", Category.COUNTER),
        ("i", "", "[memory]", Category.MEMORY),
        ("i", "cpu_instant_event", "[memory]", Category.MEMORY),
        ("i", "", "Record Window End", Category.OTHER),
    ],
)
def test_categories_of_all_eras(phase: str, cat: str, name: str, category: Category, tmp_path: Path) -> None:
    changes = {"cat": cat} if cat else {}
    one = event(name, ph=phase) | changes
    if not cat:
        del one["cat"]
    assert load_events([one], tmp_path).events.category.tolist() == [category]


def test_a_clamped_time_does_not_move_the_base(tmp_path: Path) -> None:
    base = 1_752_215_573_960_000
    trace = load_events([event(ts=0, dur=0), event(ts=base), event(ts=base + 50)], tmp_path)
    assert trace.base_ns == base * 1000
    assert trace.events.start.tolist() == [0, 0, 50_000]
    assert kinds(trace) == {"times before the trace begins": 1}


def test_a_trace_may_begin_at_zero(tmp_path: Path) -> None:
    trace = load_events([event(ts=0), event(ts=10)], tmp_path)
    assert trace.base_ns == 0
    assert trace.repairs == ()


def test_a_trace_may_lie_before_zero(tmp_path: Path) -> None:
    trace = load_events([event(ts=-30), event(ts=-50), event(ts=-40)], tmp_path)
    assert trace.base_ns == -50_000
    assert trace.events.start.tolist() == [20_000, 0, 10_000]
    assert trace.repairs == ()


def test_instants_far_outside_do_not_move_the_base(tmp_path: Path) -> None:
    marks = [event("Record Window End", ph="i", ts=10**15), event("Iteration Start", ph="i", ts=1)]
    trace = load_events([event(ts=10**9), *marks], tmp_path)
    assert trace.base_ns == 10**12


def test_negative_durations_become_zero_and_are_counted(tmp_path: Path) -> None:
    trace = load_events([event(dur=-5), event(dur=0), event()], tmp_path)
    assert trace.events.duration.tolist() == [0, 0, 10_000]
    assert kinds(trace) == {"negative durations": 1}


def test_numbers_too_large_are_absent_and_counted(tmp_path: Path) -> None:
    large = {"correlation": 2**64 - 1, "device": 2**40, "stream": -(2**40), "External id": 10**30}
    trace = load_events([event(args=large), event(ts=10**30, dur=10**30)], tmp_path)
    events = trace.events
    ids = (events.correlation[0], events.device[0], events.stream[0], events.external_id[0])
    assert ids == (ABSENT, ABSENT, NO_STREAM, ABSENT)
    assert kinds(trace)["numbers too large for their column"] == 6
    assert (events.end >= events.start).all()


@pytest.mark.parametrize("dur", [10**15, 10**17, 1e30])
def test_endless_durations_are_absent_and_counted(dur: float, tmp_path: Path) -> None:
    trace = load_events([event(dur=dur), event()], tmp_path)
    assert trace.events.duration.tolist() == [0, 10_000]
    assert kinds(trace) == {"numbers too large for their column": 1}


def test_an_unsigned_print_of_a_negative_stream(tmp_path: Path) -> None:
    trace = load_events([event(args={"stream": 2**32 - 1, "device": 0})], tmp_path)
    assert trace.events.stream.tolist() == [-1]
    assert trace.repairs == ()


def test_the_last_of_repeated_keys_counts(tmp_path: Path) -> None:
    text = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "dur": 3, "name": "b"}'
    columns = columns_of(load_events([text], tmp_path))
    assert columns["name"] == ["b"]
    assert columns["duration"] == [3000]


def test_device_and_stream_are_taken_from_the_lane_where_args_lack_them(tmp_path: Path) -> None:
    events = load_events(
        [KERNEL | {"pid": 3}, KERNEL | {"tid": "stream 7", "args": {"device": 1}}, event()], tmp_path
    ).events
    assert events.device.tolist() == [3, 1, ABSENT]
    assert events.stream.tolist() == [7, 7, NO_STREAM]


def test_devices_are_those_listed_and_those_that_worked(tmp_path: Path) -> None:
    trace = load_events([KERNEL | {"args": {"device": 9, "stream": 0}}], tmp_path)
    listed = Device(0, "NVIDIA A100", {"id": 0, "name": "NVIDIA A100"})
    assert trace.devices == (listed, Device(9, ""))


@pytest.mark.parametrize("id", [2**90, 2**31, -3, None, "x"])
def test_listed_devices_that_no_event_could_name_are_left_out(id: object, tmp_path: Path) -> None:
    data = kineto([event()]).replace(b'"id": 0', f'"id": {json.dumps(id)}'.encode())
    assert load_bytes(data, tmp_path).devices == ()


@pytest.mark.parametrize(
    ("call", "vendor"),
    [
        ("cudaLaunchKernel", "cuda"),
        ("hipLaunchKernel", "hip"),
        ("urEnqueueKernelLaunch", "xpu"),
        ("zeCommandListAppendLaunchKernel", "xpu"),
    ],
)
def test_the_vendor_is_told_by_its_calls(call: str, vendor: str, tmp_path: Path) -> None:
    assert load_events([event(call, cat="cuda_runtime")], tmp_path).vendor == vendor


def test_sparse_arguments(tmp_path: Path) -> None:
    args = {
        "Input Dims": [[2, 3], []],
        "Input type": ["float", ""],
        "grid": [1, 2, 3],
        "bytes": 4096,
        "est. achieved occupancy %": 12.5,
        "Sequence number": 5,
        "Call stack": 'a.py(3): f;b.py(4): "g"',
        "kernel_file": "/tmp/x.py",
        "graph id": 3,
        "Python parent id": None,
    }
    trace = load_events([event(), event(args=args), event("ac2g", ph="s", id=77, cat="ac2g")], tmp_path)
    columns = columns_of(trace)
    assert columns["shapes"] == [(1, "[[2,3],[]]")]
    assert columns["dtypes"] == [(1, '["float",""]')]
    assert columns["grid"] == [(1, "[1,2,3]")]
    assert columns["bytes"] == [(1, 4096)]
    assert columns["occupancy"] == [(1, 12.5)]
    assert columns["sequence"] == [(1, 5)]
    assert columns["call_stack"] == [(1, 'a.py(3): f;b.py(4): "g"')]
    assert columns["kernel_file"] == [(1, "/tmp/x.py")]
    assert columns["graph_id"] == [(1, 3)]
    assert columns["flow_id"] == [(2, 77)]
    assert "python_parent" not in columns


def test_progress_is_told_and_can_stop_loading(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    load_events([event(ts=n) for n in range(30_000)], tmp_path)
    calls: list[tuple[int, int, int]] = []
    load_trace(path, progress=lambda *state: calls.append(state))
    assert calls[0][1] == path.stat().st_size
    assert 0 < calls[0][0] <= calls[0][1]
    assert calls[0][2] > 0

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_trace(path, progress=stop)


@pytest.mark.parametrize(
    "path", [path for path in reference_traces("h200") if path.stat().st_size < 20_000], ids=lambda path: path.name
)
def test_real_traces_lose_nothing(path: Path) -> None:
    trace = load_trace(path)
    assert trace.repairs == ()
    assert trace.vendor == "cuda"
    work = trace.events.device_work()
    assert work.any()
    linked = np.isin(trace.links.launch[work], np.flatnonzero(trace.events.category == Category.RUNTIME))
    assert (linked | (trace.links.launch[work] == ABSENT)).all()


def test_keys_read_as_they_are_spelled_with_escapes_or_without(tmp_path: Path) -> None:
    plain = event("x", args={"correlation": 7, "External id": 8, "stream": 9})
    text = json.dumps(plain).replace("dur", r"\u0064ur").replace("correlation", r"corr\u0065lation")
    text = text.replace("External id", r"External\u0020id").replace("stream", r"stre\u0061m")
    assert columns_of(load_events([text], tmp_path)) | {"length": []} == columns_of(load_events([plain], tmp_path)) | {
        "length": []
    }


@pytest.mark.parametrize("pair", [((-1, 0), ("", 0)), ((0, -1), (0, "")), ((-1, -1), ("", ""))])
def test_no_number_shares_a_lane_with_a_word(pair: tuple[tuple[Any, Any], ...], tmp_path: Path) -> None:
    events = [event("x", pid=pid, tid=tid, ts=n) for n, (pid, tid) in enumerate(pair)]
    assert len(set(load_events(events, tmp_path).events.lane.tolist())) == 2


@pytest.mark.parametrize("text", ["1e999999", "-1e999999", "1e900000", "1" * 100_000])
def test_exponents_without_bounds_are_out_of_range_at_once(text: str, tmp_path: Path) -> None:
    began = time.process_time()
    ids = {"correlation": text, "device": text, "stream": text, "blocks per SM": text}
    trace = load_events([event(), event(ts=text, args=ids), event(dur=text)], tmp_path)
    assert kinds(trace)["numbers too large for their column"] == 2
    assert trace.events.duration.tolist()[-1] == 0
    assert time.process_time() - began < 0.5


def test_a_number_that_no_float_holds_is_none(tmp_path: Path) -> None:
    trace = load_events([event(), event(dur=77777), event()], tmp_path)
    data = (tmp_path / "trace.json").read_bytes().replace(b"77777", b"1e999999")
    trace = load_bytes(data, tmp_path)
    assert len(trace.events) == 3
    assert kinds(trace) == {"values that are not JSON (NaN, inf, N/A)": 1, "events without a duration": 1}
