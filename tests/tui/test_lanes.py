"""Lanes of a trace and what their cells show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import TraceBuilder
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Timeline
from tracelens.model.events import ABSENT, Trace
from tracelens.tui.inks import LABEL, MATCH, SELECTED, Ink, ink_of
from tracelens.tui.lanes import Lane, LaneKind, gap_lane, trace_lanes
from tracelens.tui.names import short_name
from tracelens.tui.paint import paint
from tracelens.tui.viewport import Viewport


@pytest.fixture
def trace() -> Trace:
    return (
        TraceBuilder()
        .step(0, start=0, dur=100)
        .op("aten::linear", start=10, dur=30)
        .op("aten::addmm", start=12, dur=20)
        .launch("void cutlass::gemm<float>(Params)", start=14, dur=5, at=40, runs=20)
        .launch("ncclAllReduce", start=25, dur=5, at=50, runs=30, stream=20)
        .sync(start=60, dur=30)
        .python("model.py(41): forward", start=5, dur=80)
        .op("autograd::engine", start=70, dur=10, thread=77)
        .trace()
    )


def timeline(*pieces: tuple[int, int, Part, int]) -> Timeline:
    start, end, part, gap = zip(*pieces, strict=True)
    return Timeline(0, np.array(start), np.array(end), np.array(part, np.uint8), np.array(gap, np.int32))


def lane_of(trace: Trace, kind: LaneKind, number: int = 0) -> Lane:
    return [lane for lane in trace_lanes(trace) if lane.kind == kind][number]


def whole(lane: Lane, columns: int, end: int = 100_000) -> Viewport:
    return Viewport.whole(0, end, columns)


def test_every_thread_stream_and_level_has_a_lane(trace: Trace) -> None:
    shown = [(lane.title, [lane.label(index) for index in range(len(lane))]) for lane in trace_lanes(trace)]
    assert shown == [
        ("annotations", ["ProfilerStep#0"]),
        ("GPU 0 stream 7", ["void cutlass::gemm<float>(Params)"]),
        ("GPU 0 stream 20", ["ncclAllReduce"]),
        ("python3 4000", ["aten::linear"]),
        ("python3 4000", ["aten::addmm"]),
        ("python3 4000 calls", ["cudaLaunchKernel", "cudaLaunchKernel", "cudaDeviceSynchronize"]),
        ("python3 4000 Python", ["model.py(41): forward"]),
        ("thread 77", ["autograd::engine"]),
    ]


def test_steps_that_optimizers_reach_into_stay_on_their_level() -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, start=100 * number, dur=95)
        builder.annotation("Optimizer.step#Adam.step", start=100 * number + 50, dur=60)
    shown = [[lane.label(index) for index in range(len(lane))] for lane in trace_lanes(builder.trace())]
    assert shown == [[f"ProfilerStep#{number}" for number in range(4)], ["Optimizer.step#Adam.step"] * 4]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 25)), min_size=1, max_size=11))
def test_no_slice_lies_over_another_of_its_lane(spans: list[tuple[int, int]]) -> None:
    builder = TraceBuilder()
    for number, (start, length) in enumerate(spans):
        builder.op(f"op {number}", start=start, dur=length)
    for lane in trace_lanes(builder.trace()):
        assert (lane.start[1:] >= lane.end[:-1]).all()


def test_a_trace_without_events_has_no_lanes() -> None:
    assert trace_lanes(TraceBuilder().trace()) == []


def test_cells_show_the_busy_share_in_eighths(trace: Trace) -> None:
    line = paint(lane_of(trace, LaneKind.STREAM), whole(lane_of(trace, LaneKind.STREAM), 4, 160_000))
    assert line.text == " ▄  "


def test_wide_slices_carry_their_names(trace: Trace) -> None:
    line = paint(lane_of(trace, LaneKind.STREAM), whole(lane_of(trace, LaneKind.STREAM), 50))
    assert line.text == " " * 20 + "▏gemm     " + " " * 20
    assert (20, 30, Ink.COMPUTE + LABEL) in line.runs


def test_a_name_that_is_cut_says_so(trace: Trace) -> None:
    operators = lane_of(trace, LaneKind.OPERATORS)
    assert paint(operators, whole(operators, 20)).text[2:8] == "▏aten…"


def test_classes_differ_by_glyph_as_well_as_ink(trace: Trace) -> None:
    communication = paint(lane_of(trace, LaneKind.STREAM, 1), Viewport.whole(0, 100_000, 5))
    calls = paint(lane_of(trace, LaneKind.CALLS), Viewport.whole(0, 100_000, 10))
    assert communication.text == "  ▚▚ "
    assert calls.text == " ▄▄   ░░░ "
    assert [ink_of(code) for *_, code in calls.runs] == [Ink.CALL, Ink.WAIT]


def test_the_selected_slice_and_matches_are_marked(trace: Trace) -> None:
    lane = lane_of(trace, LaneKind.CALLS)
    line = paint(lane, whole(lane, 10), selected=2, found=lane.spans(np.array([True, True, False])))
    marked = {code & (MATCH | SELECTED): (first, last) for first, last, code in line.runs}
    assert marked[MATCH] == (1, 3)
    assert marked[SELECTED] == (6, 9)


def test_runs_tile_the_line(trace: Trace) -> None:
    for lane in trace_lanes(trace):
        line = paint(lane, whole(lane, 37), selected=0)
        assert [first for first, _, _ in line.runs] == [0, *[last for _, last, _ in line.runs[:-1]]]
        assert line.runs[-1][1] == len(line.text) == 37


def test_gaps_are_inked_by_the_class_that_holds_most() -> None:
    lane = gap_lane(
        timeline(
            (0, 10_000, Part.KERNEL_COMPUTE, ABSENT),
            (10_000, 12_000, Part.SYNC_WAIT, 0),
            (12_000, 20_000, Part.DISPATCH_FRAMEWORK, 0),
            (20_000, 30_000, Part.KERNEL_COMPUTE, ABSENT),
            (30_000, 40_000, Part.LAUNCH_API, 1),
        )
    )
    assert [(lane.label(i), int(lane.start[i]), int(lane.end[i])) for i in range(2)] == [
        ("dispatch.framework", 10_000, 20_000),
        ("launch.api", 30_000, 40_000),
    ]
    assert paint(lane, Viewport.whole(0, 40_000, 20)).text[5:10] == "▏dis…"


def test_the_slice_at_a_time_is_the_nearest(trace: Trace) -> None:
    lane = lane_of(trace, LaneKind.CALLS)
    assert [lane.at(ns) for ns in (0, 16_000, 21_000, 24_000, 99_000)] == [0, 0, 0, 1, 2]


def test_a_filter_keeps_whole_slices(trace: Trace) -> None:
    lane = lane_of(trace, LaneKind.CALLS)
    kept = lane.only(lane.name == lane.name[2])
    assert [kept.label(index) for index in range(len(kept))] == ["cudaDeviceSynchronize"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, at::F<int>>(int, F)", "vectorized_elementwise_kernel"),
        ("void (anonymous namespace)::softmax<float>(float*)", "softmax"),
        ("aten::addmm", "aten::addmm"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("(weird)", "(weird)"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short
