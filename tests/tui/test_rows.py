"""Rows of styled text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.tui.links import VIEWS
from tracelens.tui.pages.tabs import tabs
from tracelens.tui.rows import Look, Piece, Row, changed, crop, cut, cut_left, pad, quiet, row, text, wrapped

ROWS = st.lists(st.builds(Piece, st.text("ab ", max_size=6), st.sampled_from(list(Look))), max_size=5).map(tuple)


@given(ROWS, st.integers(1, 20))
def test_padded_rows_have_their_width(line: Row, width: int) -> None:
    assert len(text(pad(line, width))) == width
    assert len(text(crop(line, width))) <= width


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (120, " 1 Overview  2 Timeline  3 Kernels  5 Gaps "),
        (40, " 1 Overview 2 Timeline 3 Kernels 5 Gaps"),
        (36, " 1 Over 2 Timeline 3 Kern 5 Gaps"),
        (31, " 1  2 Timeline 3  5 "),
    ],
)
def test_tabs_are_as_long_as_fit_and_name_the_view_that_is_shown(width: int, shown: str) -> None:
    assert text(tabs(("overview", "timeline", "kernels", "gaps"), "timeline", width)) == shown


@pytest.mark.parametrize("view", VIEWS)
def test_short_names_of_all_views_fit_80_cells(view: str) -> None:
    line = text(tabs(VIEWS, view, 80))
    assert len(line) <= 80
    assert view.capitalize() in line
    assert "Ops" in line or view == "operators"


@given(ROWS, ROWS, st.integers(1, 20))
def test_rows_agree_outside_what_has_changed(old: Row, new: Row, width: int) -> None:
    span = changed(old, new, width) or (0, 0)
    before, after = text(pad(old, width)), text(pad(new, width))
    assert before[: span[0]] == after[: span[0]]
    assert before[span[1] :] == after[span[1] :]


def test_a_change_of_look_is_a_change() -> None:
    assert changed(row("ab"), (Piece("a"), quiet("b")), 4) == (1, 2)
    assert changed(row("ab"), row("a", "b"), 4) is None


def test_cut_shows_what_is_missing() -> None:
    assert (cut("abcdef", 4), cut_left("abcdef", 4), cut("abc", 3)) == ("abc…", "…def", "abc")


@given(st.text("ab \n", max_size=60), st.integers(12, 30))
def test_paragraphs_fit(words: str, width: int) -> None:
    assert all(len(text(line)) <= width for line in wrapped(words, width))
