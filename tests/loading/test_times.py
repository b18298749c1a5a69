"""Times are as written, whatever unit or base the file tells beside them, and however they overlap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracelens
from tests.build import TraceBuilder
from tests.loading.traces import call, event, kernel, launches, load_bytes, load_events

pytestmark = pytest.mark.usefixtures("either_scan")


@pytest.mark.parametrize("unit", ["ms", "ns", None, "fortnight"])
def test_the_unit_shown_never_changes_the_unit_of_times(unit: str | None, tmp_path: Path) -> None:
    document = {"displayTimeUnit": unit, "traceEvents": [event(ts=5.125, dur=2.001)]}
    events = load_bytes(json.dumps(document).encode(), tmp_path)
    assert (events.base_ns, events.events.duration.tolist()) == (5125, [2001])


@pytest.mark.parametrize("first", ["baseTimeNanoseconds", "traceEvents"])
def test_a_base_before_or_after_the_events_changes_no_time(first: str, tmp_path: Path) -> None:
    members = {"traceEvents": [event(ts=7764763351053.764)], "baseTimeNanoseconds": 1744300000000000000}
    ordered = {first: members[first], **members}
    trace = load_bytes(json.dumps(ordered).encode(), tmp_path)
    assert trace.base_ns == 7764763351053764
    assert trace.metadata["baseTimeNanoseconds"] == 1744300000000000000


def test_thousands_of_events_without_a_length_stay_in_order(tmp_path: Path) -> None:
    pairs = [pair for n in range(3000) for pair in (call(correlation=n + 1, ts=n, dur=0), kernel(correlation=n + 1))]
    for n, device_event in enumerate(pairs[1::2]):
        device_event.update(ts=n + 1, dur=0)
    trace = load_events(pairs, tmp_path)
    assert launches(trace) == list(range(0, 6000, 2))
    assert not trace.events.duration.any()
    assert trace.repairs == ()


def test_events_that_overlap_on_their_lane_keep_their_times(tmp_path: Path) -> None:
    kernels = [kernel(f"k{n}", n + 1) | {"ts": 20 + 3 * n, "dur": 5} for n in range(4)]
    trace = load_events([call(correlation=1), *kernels], tmp_path)
    work = trace.events.device_work()
    assert trace.events.start[work].tolist() == [10_000, 13_000, 16_000, 19_000]
    assert trace.events.duration[work].tolist() == [5000] * 4
    assert trace.repairs == ()


def test_overlap_counts_once_in_the_account() -> None:
    trace = TraceBuilder().op("aten::mm", 0, 10)
    for n in range(4):
        trace.launch(f"k{n}", start=1 + n, dur=1, at=20 + 8 * n, runs=10)
    document = tracelens.report(trace.trace(), span="all").document
    assert document["attribution"]["classes"]["kernel"]["ns"] == 34_000
