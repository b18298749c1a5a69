"""The timeline has no holes, its account is exact for any window, and windows add up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.accounts import account, flat, union_ns
from tests.build import TraceBuilder
from tracelens.analysis.attribution import attribute
from tracelens.analysis.extent import device_ids, device_rows
from tracelens.analysis.parts import CLASSES, Part
from tracelens.analysis.timeline import build_timeline
from tracelens.model.events import ABSENT, Trace

DEVICES = 3
TIME = st.integers(0, 3000).map(lambda ns: ns / 10)
"""Microseconds, so that events of up to a few hundred collide, nest and overlap."""
LENGTH = st.integers(0, 1500).map(lambda ns: ns / 10)
THREAD = st.sampled_from([4000, 4001])
WORK = st.tuples(TIME, LENGTH, TIME, LENGTH, THREAD, st.integers(7, 8), st.integers(0, DEVICES - 1))
HOST = st.tuples(st.sampled_from(["op", "sync", "malloc", "load_module", "overhead"]), TIME, LENGTH, THREAD)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Host and device events that need not make sense together."""
    builder = TraceBuilder()
    for start, dur, later, runs, thread, stream, device in draw(st.lists(WORK, max_size=10)):
        place = {"thread": thread, "stream": stream, "device": device}
        builder.launch("gemm", start, dur, at=start + later, runs=runs, **place)
    for start, runs, device in draw(st.lists(st.tuples(TIME, LENGTH, st.integers(0, DEVICES - 1)), max_size=3)):
        builder.kernel("ncclDevKernel_AllReduce", start, runs, device=device)
    for start, dur, first, second in draw(st.lists(st.tuples(TIME, LENGTH, TIME, TIME), max_size=2)):
        builder.launch_graph(start, dur, [("node", start + first, 5), ("node", start + second, 20)])
    for start, dur, later, runs in draw(st.lists(st.tuples(TIME, LENGTH, TIME, LENGTH), max_size=3)):
        builder.copy(start, dur, at=start + later, runs=runs)
    for kind, start, dur, thread in draw(st.lists(HOST, max_size=10)):
        _add(builder, kind, start, dur, thread)
    return builder.trace()


def _add(builder: TraceBuilder, kind: str, start: float, dur: float, thread: int) -> None:
    if kind == "op":
        builder.op("aten::mm", start, dur, thread=thread)
    elif kind == "overhead":
        builder.overhead(start, dur)
    else:
        getattr(builder, kind)(start, dur, thread=thread)


@settings(max_examples=30)
@given(traces())
def test_pieces_follow_each_other_without_holes(trace: Trace) -> None:
    for device in device_ids(trace):
        timeline, gaps = build_timeline(trace, device)
        assert (timeline.end > timeline.start).all()
        assert (timeline.start[1:] == timeline.end[:-1]).all()
        idle = timeline.gap != ABSENT
        assert (
            np.isin(timeline.part, (Part.KERNEL_COMPUTE, Part.KERNEL_COMMUNICATION, Part.KERNEL_COPY)) == ~idle
        ).all()
        assert (timeline.start[idle] >= gaps.start[timeline.gap[idle]]).all()
        assert (timeline.end[idle] <= gaps.end[timeline.gap[idle]]).all()
        assert (np.bincount(timeline.gap[idle], minlength=len(gaps.start)) > 0).all()


@settings(max_examples=30)
@given(traces(), st.lists(st.integers(-50_000, 700_000), min_size=2, max_size=8, unique=True))
def test_windows_are_exact_and_add_up(trace: Trace, cuts: list[int]) -> None:
    cuts.sort()
    tiles = np.array(list(itertools.pairwise(cuts)), dtype=np.int64)
    for device in device_ids(trace):
        timeline, _ = build_timeline(trace, device)
        whole = attribute(timeline, np.array([[cuts[0], cuts[-1]]], dtype=np.int64))
        parts = [attribute(timeline, tile[np.newaxis]) for tile in tiles]
        assert whole.window_ns == sum(flat(whole).values()) == cuts[-1] - cuts[0]
        assert all(ns >= 0 for ns in flat(whole).values())
        for name in flat(whole):
            assert sum(flat(part).get(name, 0) for part in parts) == flat(whole)[name]
        assert flat(attribute(timeline, tiles)) == flat(whole)


@settings(max_examples=30)
@given(traces(), st.integers(-50_000, 700_000), st.integers(1, 700_000))
def test_the_kernel_class_is_the_union_of_device_work(trace: Trace, low: int, length: int) -> None:
    for device in device_ids(trace):
        rows = device_rows(trace, device)
        busy = union_ns(trace.events.start[rows], trace.events.end[rows], low, low + length)
        assert sum(account(trace, device, (low, low + length)).parts["kernel"].values()) == busy


def test_every_class_and_part_is_present() -> None:
    parts = account(TraceBuilder().launch("gemm", 0).trace()).parts
    assert tuple(parts) == CLASSES
    assert [(name, part) for name in parts for part in parts[name]] == [(p.class_name, p.part_name) for p in Part]


def test_shares_are_of_the_window() -> None:
    attribution = account(TraceBuilder().launch("a", 0, 2, at=10, runs=30).launch("b", 3, 2, at=50, runs=10).trace())
    assert attribution.window_ns == 50_000
    assert attribution.share("kernel") == 0.8
    assert attribution.share("device", "spacing") == 0.2
    assert account(TraceBuilder().trace()).share("kernel") == 0.0


def test_events_of_no_duration_end_no_gap_and_get_no_time() -> None:
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10).launch("empty", 30, 5, at=40, runs=0)
    trace = builder.launch("second", 100, 5, at=105, runs=10).trace()
    _, gaps = build_timeline(trace, 0)
    inner = (gaps.before != ABSENT) & (gaps.after != ABSENT)
    assert np.column_stack((gaps.start, gaps.end))[inner].tolist() == [[20_000, 105_000]]
    assert account(trace).parts["kernel"]["compute"] == 20_000


def test_gaps_name_what_came_before_and_after_and_what_filled_them() -> None:
    builder = TraceBuilder().launch("first", 0, 3, at=10, runs=10).op("aten::small", 22, 10).op("aten::large", 40, 50)
    trace = builder.launch("second", 100, 5, at=105, runs=10).sync(110, 20).trace()
    _, gaps = build_timeline(trace, 0)
    assert np.column_stack((gaps.start, gaps.end)).tolist() == [[0, 10_000], [20_000, 105_000], [115_000, 130_000]]
    assert [_name(trace, row) for row in gaps.before] == [None, "first", "second"]
    assert [_name(trace, row) for row in gaps.after] == ["first", "second", None]
    assert [_name(trace, row) for row in gaps.operator] == [None, "aten::large", None]
    assert gaps.part.tolist() == [Part.LAUNCH_LATENCY, Part.DISPATCH_FRAMEWORK, Part.SYNC_WAIT]


def _name(trace: Trace, row: int) -> str | None:
    return None if row == ABSENT else trace.names[trace.events.name[row]]


def test_the_pieces_of_an_operator_add_up_when_it_is_cut() -> None:
    """40 us of one operator around a call beat 30 us of another in one piece."""
    builder = TraceBuilder().launch("first", 0, 5, at=10, runs=10)
    builder.op("aten::cut", 20, 45).malloc(40, 5).op("aten::whole", 65, 30)
    trace = builder.launch("second", 100, 5, at=105, runs=10).trace()
    _, gaps = build_timeline(trace, 0)
    assert _name(trace, gaps.operator[gaps.after != ABSENT][-1]) == "aten::cut"


@pytest.mark.parametrize("broken", ["ProfilerStep#0", "forward"])
def test_an_absurd_duration_does_not_stretch_the_timeline(broken: str) -> None:
    builder = TraceBuilder().recorded(400).annotation(broken, 0, 13_300_000).launch("gemm", 0, 5, at=10, runs=10)
    timeline, _ = build_timeline(builder.trace(), 0)
    assert int(timeline.end[-1]) == 20_000


def test_a_trace_without_work_has_an_empty_timeline() -> None:
    for builder in (TraceBuilder(), TraceBuilder().op("aten::mm", 0, 10)):
        timeline, gaps = build_timeline(builder.trace(), 0)
        assert len(timeline.start) == len(timeline.gap) == len(gaps.start) == 0
