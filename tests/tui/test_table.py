"""Tables: order, filter, search and what a move of the cursor draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Region

from tests.build import TraceBuilder
from tracelens.loading import load_trace
from tracelens.model import units
from tracelens.model.events import ABSENT
from tracelens.tui.atlas import Atlas
from tracelens.tui.judging import judge
from tracelens.tui.links import Portion
from tracelens.tui.search import Query
from tracelens.tui.table import Column, Table
from tracelens.tui.tables import linked_table
from tracelens.tui.widgets.table import TableView


def kernels() -> Table:
    return Table(
        [
            Column("name", ["gemm", "relu", None, "add"], gives_way=True),
            Column("total", np.array([30, 10, 20, 40]), align=">"),
            Column("share", np.array([0.3, np.nan, 0.2, 0.4]), lambda share: f"{share:.0%}", ">", spare=True),
        ],
        sort=1,
    )


def lines(table: Table, width: int = 30) -> list[str]:
    widths = table.widths(width)
    return [table.heading(widths), *(table.line(row, widths) for row in table.order.tolist())]


def test_numbers_begin_with_the_largest() -> None:
    assert lines(kernels()) == [
        "name  total▾  share",
        "add       40    40%",
        "gemm      30    30%",
        "          20    20%",
        "relu      10       ",
    ]


def test_text_begins_with_the_first() -> None:
    table = kernels()
    table.sort(0)
    assert table.order.tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("descending", [True, False])
def test_missing_values_come_last(descending: bool) -> None:
    table = kernels()
    table.sort(2, descending=descending)
    assert table.order[-1] == 1


def test_a_handle_is_never_cut() -> None:
    column = Column("gap", [f"g-{number}" for number in range(6_249)])
    assert column.width == len("g-6248")


def test_a_narrow_table_leaves_out_what_is_spare() -> None:
    assert lines(kernels(), 14)[1] == "add       40"


def test_filter_and_inverse() -> None:
    table = kernels()
    table.filter(Query.parse("^(gemm|add)$"))
    assert table.order.tolist() == [3, 0]
    table.filter(Query.parse("!gemm"))
    assert table.order.tolist() == [3, 2, 1]
    table.filter(None)
    assert len(table) == 4


def test_search_goes_around() -> None:
    table = kernels()
    table.found = Query.parse("e")
    assert [table.next_match(place, 1) for place in (0, 1, 3)] == [1, 3, 1]
    assert [table.next_match(place, -1) for place in (3, 1)] == [1, 3]
    table.found = Query.parse("nothing")
    assert table.next_match(0, 1) == ABSENT


def test_a_table_without_rows_or_columns() -> None:
    for table in (Table([]), Table([Column("name", []), Column("total", np.array([]))], sort=1)):
        table.sort(0)
        table.filter(Query.parse("x"))
        assert len(table) == 0
        assert isinstance(lines(table)[0], str)


@given(st.lists(st.one_of(st.integers(-5, 5), st.just(float("nan"))), max_size=20), st.booleans())
def test_sorting_is_a_permutation(values: list[float], descending: bool) -> None:
    table = Table([Column("x", np.array(values, dtype=np.float64))])
    table.sort(0, descending=descending)
    assert sorted(table.order.tolist()) == list(range(len(values)))
    ordered = [values[row] for row in table.order if values[row] == values[row]]
    assert ordered == sorted(ordered, reverse=descending)


class Host(App[None]):
    def __init__(self, table: Table) -> None:
        super().__init__()
        self.view = TableView(table)
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def get_theme_variable_defaults(self) -> dict[str, str]:
        from tracelens.tui.theme import DEFAULTS

        return DEFAULTS[True]

    def on_table_view_chosen(self, message: TableView.Chosen) -> None:
        self.chosen.append(message.row)


def shown(view: TableView) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


async def test_the_cursor_moves_and_chooses() -> None:
    app = Host(kernels())
    async with app.run_test(size=(30, 8)) as pilot:
        app.view.focus()
        await pilot.press("down", "down", "enter", "end", "enter", "home", "r", "enter")
        assert app.chosen == [2, 1, 1]
        assert shown(app.view)[1] == "relu      10"
        await pilot.press("left")
        assert shown(app.view)[0].startswith("name▴")
        await pilot.click(TableView, offset=(9, 0))
        assert shown(app.view)[1].startswith("add")


async def test_a_move_draws_two_lines_only() -> None:
    app = Host(Table([Column("n", np.arange(100_000))]))
    async with app.run_test(size=(40, 20)) as pilot:
        app.view.focus()
        assert shown(app.view)[0].startswith("n")
        drawn: list[Region] = []
        refresh = app.view.refresh
        app.view.refresh = lambda *regions, **more: (drawn.extend(regions), refresh(*regions, **more))[1]  # type: ignore
        await pilot.press("down")
        assert [(region.y, region.height) for region in drawn] == [(1, 1), (2, 1)]
        assert shown(app.view)[2] == "1"
        drawn.clear()
        await pilot.press(*["down"] * 18)
        assert shown(app.view)[-1].strip() == "19"
        lines = [y for y in range(2, 19) for y in (y, y + 1)]
        assert [(region.y, region.height) for region in drawn] == [(y, 1) for y in (*lines, 18, 19)]
        await pilot.press("end")
        assert shown(app.view)[-1] != ""
        assert "99999" in " ".join(shown(app.view))


def test_a_gap_cut_by_the_window_holds_what_lies_in_it(eager: Path) -> None:
    trace = load_trace(str(eager))
    whole = judge(str(eager), trace, Portion())
    atlas = Atlas.of(whole.analysis)
    assert atlas.gaps is not None
    gaps, timeline = whole.analysis.tables["gaps"], whole.analysis.timeline
    longest = int(gaps["ns"].argmax())
    gap = int(np.searchsorted(atlas.gaps.start, gaps["start_ns"][longest], side="right")) - 1
    piece = int(np.flatnonzero(timeline.gap == gap)[0])
    span = int(timeline.start[piece]), int(timeline.end[piece])
    cut = linked_table(judge(str(eager), trace, Portion(range=span)), atlas, "gaps").table
    cells = {column.name: column.cell(0) for column in cut.columns}
    assert cells["length"] == units.duration(span[1] - span[0])
    assert cells["holds"] == cells["cause"]


def test_kernels_of_one_template_are_told_apart(tmp_path: Path) -> None:
    builder = TraceBuilder()
    tile = "cutlass_80_simt_sgemm_64x64_8x5"
    names = [f"void cutlass::Kernel2<{tile}_{end}_align1>({tile}_{end}_align1::Params)" for end in ("tn", "nn")]
    names += [f"void at::native::reduce_kernel<512, 1, at::native::{op}<float> >(int)" for op in ("MeanOps", "MaxOps")]
    for number in range(16):
        at = 100.0 * number
        builder.launch(names[number % 4], start=at, dur=5, at=at + 10, runs=10)
    session = judge(
        "kernels", load_trace(str(builder.write(tmp_path / "kernels.json"))), Portion(range=(0, 10**9)), None
    )
    table = linked_table(session, Atlas.of(session.analysis), "kernels").table
    for width in (80, 120):
        (at,) = [at for at, column in enumerate(table.columns) if column.name == "kernel"]
        widths = table.widths(width)
        column = table.columns[at]
        shown = {column.shorten(column.cell(row), widths[at]) for row in range(len(table))}
        assert len(shown) == 4


def test_columns_without_a_text_leave_their_room_to_the_others() -> None:
    empty = Column("where", [None] * 4, spare=True)
    names = [Column(name, [name * 20] * 4, gives_way=True) for name in "ab"]
    assert Table([*names, empty]).widths(30)[2] == 0
    assert Table([*names, empty]).widths(30)[:2] == [14, 14]
    assert Table([Column("where", [None] * 4)]).widths(30) == [6]
