from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracelens.reporting.grid import Column, grid
from tracelens.reporting.printable import cells

COLUMNS = [Column("share", ">"), Column("count", ">", spare=1), Column("kernel", least=12)]


@given(st.lists(st.tuples(*[st.text("ab 核", max_size=90)] * 3), max_size=5), st.integers(20, 120))
def test_lines_fit(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = grid(COLUMNS, rows, width)
    assert len(lines) == len(rows) + 1
    assert all(cells(line) <= width for line in lines)


def test_long_names_are_cut_and_numbers_are_not() -> None:
    lines = grid(COLUMNS, [["12.3 %", "1,024", "k" * 50 + "tail"]], 40)
    assert lines == [" share  count  kernel", "12.3 %  1,024  kkkkkkkkkkkkkkkk…kkkktail"]


def test_spare_columns_leave_a_narrow_page() -> None:
    assert grid(COLUMNS, [["12.3 %", "1,024", "k" * 50]], 26)[0] == " share  kernel"


def test_columns_that_no_row_fills_are_left_out() -> None:
    assert grid(COLUMNS, [["1 %", "", "gemm"]], 40) == ["share  kernel", "  1 %  gemm"]


def test_a_cell_of_a_megabyte_is_cut_like_any_other() -> None:
    long = "k" * 1_000_000
    assert grid(COLUMNS, [["1 %", "2", long]], 40) == grid(COLUMNS, [["1 %", "2", long[:200]]], 40)
