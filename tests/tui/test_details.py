"""What is said of one event."""

from __future__ import annotations

from pathlib import Path

from tests.build import TraceBuilder
from tracelens.analysis.describe import describe
from tracelens.loading import load_trace
from tracelens.tui.atlas import Atlas
from tracelens.tui.judging import judge
from tracelens.tui.links import Portion
from tracelens.tui.pages.details import brief
from tracelens.tui.rows import text
from tracelens.tui.session import Session


def opened(path: Path) -> tuple[Session, Atlas]:
    session = judge(str(path), load_trace(str(path)), Portion(), None)
    return session, Atlas.of(session.analysis)


def test_what_had_ended_before_is_no_caller(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.op("step", start=0, dur=100)
    builder.op("loader", start=90, dur=110)
    builder.op("aten::select", start=150, dur=20)
    builder.launch("gemm", start=300, dur=5, at=310, runs=10)
    session, atlas = opened(builder.write(tmp_path / "overlap.json"))
    selection = atlas.find("o-3")
    (inside,) = [line for line in map(text, brief(session, atlas, selection, 100)) if line.startswith("inside")]
    assert inside.split(maxsplit=1)[1] == "loader"
    assert describe(session.trace, "o-3")["called_by"] == ["o-2 loader"]


def test_what_encloses_has_a_row_each_where_there_is_room(eager: Path) -> None:
    session, atlas = opened(eager)
    for handle, bare in (("g-3", 5), ("o-3", 2)):
        rows = [[text(line) for line in brief(session, atlas, atlas.find(handle), 100, height)] for height in (0, 20)]
        assert rows[1][:bare] == rows[0][:bare]
        assert rows[1][bare:] == ["inside     model.py(41): forward", "           ProfilerStep#0"]
