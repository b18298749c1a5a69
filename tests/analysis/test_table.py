"""A table as columns, and rows in groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.analysis.table import Table, Told
from tracelens.analysis.tables.groups import Groups
from tracelens.model.events import ABSENT

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9)), max_size=30)


@pytest.fixture
def asked() -> list[list[int]]:
    """Rows that texts were made for."""
    return []


@pytest.fixture
def table(asked: list[list[int]]) -> Table:
    def tell(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
        asked.append(rows.tolist())
        return np.array([f"row {row}" if row % 2 else None for row in rows], dtype=object)

    row = np.array([4, 7, 9])
    return Table(
        {"text": Told(row, tell), "ns": np.array([1, 5, 5]), "latency_ns": np.array([3, ABSENT, 0]), "row": row},
        optional=frozenset({"latency_ns"}),
    )


def test_texts_are_made_once_and_for_the_rows_taken(table: Table, asked: list[list[int]]) -> None:
    taken = table.take(table["ns"] > 1).take(np.array([1]))
    assert (len(taken), taken["text"].tolist(), taken.plain("text")) == (1, ["row 9"], ["row 9"])
    assert asked == [[9]]


def test_the_largest_come_first_and_equal_ones_as_they_were(table: Table) -> None:
    assert table.largest("ns", 2)["row"].tolist() == [7, 9]
    assert table.largest("ns", 9)["row"].tolist() == [7, 9, 4]


def test_missing_values_are_none_and_na(table: Table) -> None:
    assert table.plain("latency_ns") == [3, None, 0]
    assert table.plain("text") == [None, "row 7", "row 9"]
    frame = table.frame()
    assert list(frame) == ["text", "ns", "latency_ns", "row"]
    assert frame["latency_ns"].dtype == pd.Int64Dtype()
    assert frame["latency_ns"].isna().tolist() == [False, True, False]
    assert frame["text"].tolist() == [None, "row 7", "row 9"]


def test_an_empty_table_has_an_empty_frame(table: Table) -> None:
    none = table.take(np.arange(0))
    assert len(none) == len(none.largest("ns", 3)) == 0
    assert list(none.frame()) == list(table.columns)


@given(PAIRS)
def test_groups_are_those_of_pandas(rows: list[tuple[int, int, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b", "ns"], dtype=np.int64)
    ns = frame["ns"].to_numpy()
    groups = Groups.by(frame["a"].to_numpy(), frame["b"].to_numpy())
    found = frame.groupby(["a", "b"], sort=False)["ns"].agg(["size", "sum", "median", "idxmax"])
    assert groups.count.tolist() == found["size"].tolist()
    assert groups.sums(ns).tolist() == found["sum"].tolist()
    assert groups.medians(ns).tolist() == found["median"].tolist()
    assert groups.largest(ns).tolist() == found["idxmax"].tolist()
