"""Viewport maths: columns tile the time, and no move leaves the bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.tui.viewport import SHORTEST, History, Viewport

TIMES = st.integers(-(2**40), 2**50)


@st.composite
def viewports(draw: st.DrawFn) -> Viewport:
    low = draw(st.integers(0, 2**40))
    whole = Viewport.whole(low, low + draw(st.integers(0, 2**45)), draw(st.integers(1, 500)))
    start = draw(st.integers(whole.low, whole.high))
    return whole.show(start, start + draw(st.integers(0, 2**45)))


def inside(view: Viewport) -> bool:
    return view.low <= view.start < view.end <= view.high and view.span >= SHORTEST


@given(viewports())
def test_columns_tile_the_viewport(view: Viewport) -> None:
    edges = view.edges()
    assert (edges[0], edges[-1]) == (view.start, view.end)
    assert (np.diff(edges) > 0).all()


@given(viewports(), st.integers(0, 2**50))
def test_a_time_lies_in_its_column(view: Viewport, offset: int) -> None:
    ns = view.start + offset % view.span
    column = view.column(ns)
    assert view.time(column) <= ns < view.time(column + 1)


@given(viewports(), st.integers(0, 499))
def test_a_column_begins_at_a_time_in_that_column(view: Viewport, column: int) -> None:
    column %= view.columns
    assert view.column(view.time(column)) == column


@given(viewports(), TIMES, TIMES, st.integers(1, 20), st.integers(1, 20))
def test_no_move_leaves_the_bounds(view: Viewport, a: int, b: int, up: int, down: int) -> None:
    start, end = min(a, b), max(a, b)
    moves = (view.zoom(up, down, a), view.pan(a), view.centre(a), view.show(start, end), view.focus(start, end))
    assert all(inside(moved) for moved in (*moves, view.reveal(start, end), view.resized(up)))


@given(viewports(), st.integers(0, 2**50))
def test_zooming_in_keeps_the_cursor_in_its_column(view: Viewport, offset: int) -> None:
    at = view.start + offset % view.span
    zoomed = view.zoom(1, 2, at)
    assert abs(zoomed.column(at) - view.column(at)) <= 1 or zoomed.span == SHORTEST


@given(viewports(), TIMES)
def test_panning_keeps_the_span(view: Viewport, by: int) -> None:
    assert view.pan(by).span == view.span


@given(viewports(), st.integers(0, 2**45), st.integers(0, 2**30))
def test_reveal_shows_the_beginning(view: Viewport, offset: int, length: int) -> None:
    start = view.low + offset % (view.high - view.low)
    end = min(start + length, view.high)
    shown = view.reveal(start, end)
    assert shown.start < end + 1
    assert start < shown.end


def test_reveal_leaves_a_shown_event_where_it_is() -> None:
    view = Viewport.whole(0, 1_000_000, 100).show(1_000, 90_000)
    assert view.reveal(2_000, 3_000) == view
    assert view.reveal(0, 500_000) == view
    assert view.reveal(200_000, 210_000) != view


def test_an_empty_trace_has_a_viewport() -> None:
    assert Viewport.whole(0, 0, 0).edges().tolist() == [0, SHORTEST]


def test_a_run_of_small_moves_is_one_step_back() -> None:
    views = [Viewport.whole(0, 10**9, 100).show(i * 1000, 10**6) for i in range(4)]
    history = History().visit(views[0], jump=False).visit(views[1], jump=False).visit(views[2], jump=True)
    last, history = history.back()
    first, history = history.back()
    assert (last, first) == (views[2], views[0])
    assert history.back()[0] is None
