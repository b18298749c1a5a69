"""Reference traces of every kind open, or are refused in one readable line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.reference import reference_traces
from tracelens.model.events import ABSENT
from tracelens.tui.atlas import Atlas
from tracelens.tui.costs import largest_costs
from tracelens.tui.links import TABLES
from tracelens.tui.opening import Opening
from tracelens.tui.pages.advice import advice
from tracelens.tui.pages.details import brief
from tracelens.tui.pages.overview import overview
from tracelens.tui.paint import paint
from tracelens.tui.rows import text
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.tables import linked_table
from tracelens.tui.timeline import TimelineState

WIDTH = 80
EVERY = 1 if os.environ.get("TRACELENS_ALL_TRACES") else 7
TRACES = [*reference_traces("broken"), *reference_traces("public", "h200")[::EVERY]]
"""One in seven, unless all are asked for: this is about kinds of files."""


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_a_trace_opens_or_is_refused_readably(path: Path) -> None:
    opening = Opening(str(path))
    opening.run()
    if opening.error is not None:
        assert opening.exit_code == 3
        assert "internal error" not in opening.error
        assert "\n" not in opening.error
        return
    assert isinstance(opening.session, Session)
    look_at_everything(opening.session)


def look_at_everything(session: Session) -> None:
    """Every page, table and lane can be drawn, and every line fits."""
    atlas = Atlas.of(session.analysis)
    lines = overview(session.document, largest_costs(session.analysis), WIDTH)
    lines += advice(session.document, WIDTH)
    state = TimelineState(atlas.lanes)
    state.resize(WIDTH)
    assert all(len(paint(lane, state.view, selected=0).text) == WIDTH for lane in state.lanes)
    if state.gaps is not None:
        state.walk_gaps(lambda walk, ns: walk.worst())
    lines += brief(session, atlas, state.selection, WIDTH)
    for lane in state.lanes[:20]:
        selection = Selection(gap=int(lane.row[0])) if "idle" in lane.title else Selection(row=int(lane.row[0]))
        lines += brief(session, atlas, selection, WIDTH)
        handle = atlas.handle(selection)
        assert handle is None or atlas.find(handle) == selection
    assert [text(line) for line in lines if len(text(line)) > WIDTH] == []
    for name in TABLES:
        linked = linked_table(session, atlas, name)
        widths = linked.table.widths(WIDTH)
        assert all(linked.table.line(row, widths) for row in linked.table.order[:5].tolist())
        assert np.isin(linked.row[linked.gap == ABSENT], np.arange(-1, len(session.trace.events))).all()
