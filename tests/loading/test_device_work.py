"""What counts as work of which device and stream, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracelens
from tests.build import TraceBuilder
from tests.loading.traces import call, columns_of, event, kernel, load_events
from tracelens.model.events import ABSENT, NO_STREAM, Category

pytestmark = pytest.mark.usefixtures("either_scan")


def test_host_events_on_lane_zero_are_not_of_device_zero(tmp_path: Path) -> None:
    trace = load_events([event("aten::mm", pid=0, tid=0), call(pid=0, tid=0), kernel()], tmp_path)
    assert trace.events.device.tolist() == [ABSENT, ABSENT, 0]
    assert trace.events.stream.tolist() == [NO_STREAM, NO_STREAM, 7]
    assert trace.events.device_work().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("changes", "category"),
    [
        ({"cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}, Category.SPAN),
        ({"cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0}, Category.OVERHEAD),
        ({"cat": "gpu_user_annotation", "name": "ProfilerStep#3", "pid": 0, "tid": 7}, Category.DEVICE_ANNOTATION),
        ({"cat": "cuda_profiler_range", "name": "range", "pid": 0, "tid": 7}, Category.DEVICE_ANNOTATION),
        ({"cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1_000_007}, Category.DEVICE_SYNC),
    ],
)
def test_what_is_no_work_never_counts_as_work(changes: dict[str, Any], category: Category, tmp_path: Path) -> None:
    trace = load_events([event(**{"ts": 1, **changes})], tmp_path)
    assert trace.events.category.tolist() == [category]
    assert not trace.events.device_work().any()


@pytest.mark.parametrize(("tid", "stream"), [(1_000_007, 7), (7, 7), (-1, -1)])
def test_syncs_of_the_device_name_their_stream(tid: int, stream: int, tmp_path: Path) -> None:
    args = {"device": 0, "stream": stream, "correlation": 4, "wait_on_cuda_event_record_corr_id": -1}
    sync = event("Stream Wait Event", cat="cuda_sync", pid=0, tid=tid, args=args)
    columns = columns_of(load_events([kernel(), sync], tmp_path))
    assert columns["stream"] == [7, stream]
    assert columns["wait_record"] == [(1, -1)]


@pytest.mark.parametrize("place", ["9" * 5_000, "\u00b2", "\u0663", "-" * 9])
def test_a_place_that_is_no_number_names_no_device(place: str, tmp_path: Path) -> None:
    named = {"pid": place, "tid": f"stream {place}"}
    trace = load_events([event("k", cat="kernel", args={}, **named), event(**named)], tmp_path)
    assert trace.events.device.tolist() == [-1, -1]


def test_annotations_repeated_on_streams_add_no_device_time() -> None:
    build = TraceBuilder().op("aten::mm", 0, 10).launch("a", 1, 1, at=20, runs=5)
    plain = tracelens.report(build.trace(), span="all").document["attribution"]
    for stream, shift in ((7, -0.001), (20, 0.002)):
        build.device_annotation("ProfilerStep#0", 20 + shift, 5, stream=stream)
    assert (
        tracelens.report(build.trace(), span="all").document["attribution"]["classes"]["kernel"]
        == (plain["classes"]["kernel"])
    )


@pytest.mark.parametrize("bytes", [-2147483648, 2**31, 2**40 + 1, 0])
def test_counts_of_bytes_are_as_written(bytes: int, tmp_path: Path) -> None:
    copy = event("Memcpy", cat="gpu_memcpy", pid=0, tid=7, args={"device": 0, "stream": 7, "bytes": bytes})
    assert columns_of(load_events([copy], tmp_path))["bytes"] == [(0, bytes)]


def test_a_trace_of_the_host_alone_has_nothing_to_judge() -> None:
    report = tracelens.report(TraceBuilder().op("aten::mm", 0, 10).step(0, 0, 12).trace())
    assert report.exit_code == 4
    assert report.document["trust"]["level"] == "unusable"
