"""Moving through a timeline: zoom, cursor, gaps, search, follow."""

from __future__ import annotations

import numpy as np
import pytest

from tests.build import TraceBuilder
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Timeline
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT, Trace
from tracelens.tui.follow import follow, follow_back
from tracelens.tui.lanes import LaneKind, trace_lanes
from tracelens.tui.paint import difference, paint
from tracelens.tui.search import Query
from tracelens.tui.selection import Selection
from tracelens.tui.timeline import ZOOM_IN, ZOOM_OUT, TimelineState


@pytest.fixture
def trace() -> Trace:
    return (
        TraceBuilder()
        .op("aten::linear", start=10, dur=40)
        .op("aten::addmm", start=12, dur=20)
        .launch("gemm", start=14, dur=5, at=40, runs=20)
        .op("aten::relu", start=60, dur=30)
        .launch("relu", start=65, dur=5, at=100, runs=20)
        .launch("relu", start=80, dur=5, at=150, runs=50)
        .python("model.py(41): forward", start=0, dur=95)
        .trace()
    )


@pytest.fixture
def state(trace: Trace) -> TimelineState:
    pieces = (
        (40_000, 60_000, Part.KERNEL_COMPUTE, ABSENT),
        (60_000, 100_000, Part.DISPATCH_FRAMEWORK, 0),
        (100_000, 120_000, Part.KERNEL_COMPUTE, ABSENT),
        (120_000, 150_000, Part.SYNC_WAIT, 1),
        (150_000, 200_000, Part.KERNEL_COMPUTE, ABSENT),
    )
    start, end, part, gap = zip(*pieces, strict=True)
    timeline = Timeline(0, np.array(start), np.array(end), np.array(part, np.uint8), np.array(gap, np.int32))
    state = TimelineState(trace_lanes(trace, timeline))
    state.resize(100)
    return state


def row(trace: Trace, name: str, number: int = 0) -> int:
    return int(np.flatnonzero(trace.events.name == list(trace.names).index(name))[number])


def named(state: TimelineState) -> str:
    assert state.current is not None
    return state.current.label(state.slice)


def test_a_time_is_gone_to_with_the_cursor_on_what_lies_there(state: TimelineState) -> None:
    state.select(Selection(gap=1))
    state.view = state.view.show(120_000, 150_000)
    state.go_to(70_000)
    assert named(state) == "dispatch.framework"
    state.view = state.view.show(0, 5_000)
    state.go_to(20_000)
    assert state.current is not None
    assert state.current.kind == LaneKind.OPERATORS
    assert named(state) == "aten::linear"
    TimelineState([]).go_to(20_000)


def test_follow_leads_from_operator_to_kernel_and_back(trace: Trace) -> None:
    operator, kernel = row(trace, "aten::linear"), row(trace, "gemm")
    call = follow(trace, operator)
    assert follow(trace, call) == kernel
    assert follow(trace, kernel) == ABSENT
    assert follow_back(trace, kernel) == call
    assert follow_back(trace, call) == row(trace, "aten::addmm")
    assert follow_back(trace, row(trace, "aten::addmm")) == operator


def test_python_frames_lead_to_their_first_launch(trace: Trace) -> None:
    assert follow(trace, follow(trace, row(trace, "model.py(41): forward"))) == row(trace, "gemm")


def test_gaps_are_walked_in_order_and_by_length(state: TimelineState) -> None:
    walked = []
    for choose in ("after", "after", "after", "before", "worst", "worst"):
        assert state.walk_gaps(
            {
                "after": lambda walk, ns: walk.after(ns),
                "before": lambda walk, ns: walk.before(ns),
                "worst": lambda walk, ns: walk.worst(state.selection.gap),
            }[choose]
        )
        walked.append(state.selection.gap)
    assert walked == [0, 1, 0, 1, 0, 1]


def test_a_trace_without_gaps_has_no_walk(trace: Trace) -> None:
    assert not TimelineState(trace_lanes(trace)).walk_gaps(lambda walk, ns: walk.after(ns))


def test_the_cursor_moves_along_and_across_lanes(state: TimelineState, trace: Trace) -> None:
    state.select(Selection(row=row(trace, "aten::linear")))
    state.step(1)
    assert named(state) == "aten::relu"
    state.step(5)
    assert named(state) == "aten::relu"
    state.change_lane(-1)
    assert state.current is not None
    assert state.current.kind == LaneKind.STREAM
    state.change_lane(-99)
    assert state.lane == 0


def test_zoom_keeps_the_cursor_and_back_undoes_a_run_of_moves(state: TimelineState, trace: Trace) -> None:
    whole = state.view
    state.select(Selection(row=row(trace, "relu", 1)))
    for _ in range(3):
        state.zoom(ZOOM_IN)
    assert 150_000 < state.view.end <= 200_000
    assert state.view.span == 25_000
    state.zoom(ZOOM_OUT)
    state.back()
    assert state.view == whole


def test_focus_centres_then_fits(state: TimelineState, trace: Trace) -> None:
    state.zoom(ZOOM_IN, at=0)
    state.select(Selection(row=row(trace, "relu", 0)))
    state.focus()
    assert abs((state.view.start + state.view.end) // 2 - 110_000) <= 1
    state.focus()
    assert (state.view.start, state.view.end) == (98_000, 122_000)


def test_search_walks_matches_on_all_lanes_in_time(state: TimelineState) -> None:
    assert state.search(Query.parse("relu")) == 3
    found = []
    for _ in range(4):
        assert state.next_match(1)
        found.append(named(state))
    assert found == ["aten::relu", "relu", "relu", "aten::relu"]
    assert state.next_match(-1)
    assert named(state) == "relu"


def test_a_filter_leaves_only_what_matches_and_the_gaps(state: TimelineState) -> None:
    state.name_filter = Query.parse("!relu")
    state.arrange()
    names = {lane.label(index) for lane in state.lanes for index in range(len(lane))}
    assert names == {"dispatch.framework", "sync.wait", "gemm", "aten::linear", "aten::addmm", "cudaLaunchKernel"}


def test_lanes_can_be_pinned_hidden_and_shown(state: TimelineState, trace: Trace) -> None:
    state.select(Selection(row=row(trace, "aten::linear")))
    state.pin()
    assert (state.lane, named(state)) == (0, "aten::linear")
    assert all(lane.kind != LaneKind.PYTHON for lane in state.lanes)
    state.show_python = True
    state.arrange()
    assert any(lane.kind == LaneKind.PYTHON for lane in state.lanes)
    state.lane_query = Query.parse("stream")
    state.arrange()
    assert [lane.kind for lane in state.lanes] == [LaneKind.STREAM]


def test_no_lanes_no_trouble() -> None:
    state = TimelineState([])
    state.step(1)
    state.change_lane(1)
    state.zoom(ZOOM_IN)
    state.focus()
    state.back()
    state.pin()
    assert not state.selection
    assert not state.next_match(1)


def test_a_bad_pattern_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        Query.parse("a(")


def test_lines_differ_only_where_they_do(state: TimelineState) -> None:
    lane = state.lanes[1]
    plain, chosen = paint(lane, state.view), paint(lane, state.view, selected=1)
    assert difference(plain, plain) is None
    assert difference(plain, chosen) == (50, 60)
