from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from tests.reporting import example
from tracelens.reporting.report import Report
from tracelens.reporting.schema import COLUMNS


@pytest.mark.parametrize("table", COLUMNS)
def test_every_table_reads_back(table: str) -> None:
    report = Report(example.analysis(), example.advice())
    rows = list(csv.DictReader(io.StringIO(report.to_csv(table))))
    assert len(rows) == report.document["table_rows"][table]
    for row, known in zip(rows, report.document["tables"][table], strict=True):
        simple = {name: value for name, value in known.items() if not isinstance(value, list)}
        assert {name: row[name] for name in simple} == {
            name: "" if value is None else str(value) for name, value in simple.items()
        }


def test_no_rows_leave_the_header() -> None:
    text = Report(example.empty_analysis(), example.abstaining()).to_csv("syncs")
    assert text == "handle,call,ns,busy_overlap_ns,saving_low_ns,saving_high_ns,operator,where\n"


@pytest.mark.parametrize(
    "name", ["=1+1", "+cmd", "-dtype_", "@SUM(A1)", "\t=1", "\r=1", " =1", "\u3000@A1", *"＝＋－＠"]
)
def test_no_cell_is_a_formula(name: str) -> None:
    analysis = example.with_column(example.analysis(), "kernels", name=[name] * 7)
    text = Report(analysis, example.advice()).to_csv()
    cells = [row["name"] for row in csv.DictReader(io.StringIO(text))]
    assert all(cell[0] in "'\\" for cell in cells)


def test_an_unknown_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        Report(example.analysis(), example.advice()).to_csv("streams")


def test_waits_are_ranked_by_what_they_cost_before_their_length() -> None:
    nothing, waits = example.analysis(), example.syncs()
    columns = {name: np.tile(column, 4) for name, column in waits.columns.items()}
    ranked = {"handle": ["s-1", "s-2", "s-3", "s-4"], "ns": [9, 5, 7, 1], "saving_high_ns": [0, 5, 5, 6]}
    table = replace(waits, columns={**columns, **{name: np.array(values) for name, values in ranked.items()}})
    text = Report(replace(nothing, tables={**nothing.tables, "syncs": table}), example.advice()).to_csv("syncs")
    assert [row["handle"] for row in csv.DictReader(io.StringIO(text))] == ["s-4", "s-3", "s-2", "s-1"]
