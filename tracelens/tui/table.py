"""A table as columns and an order: sorting, filtering and search over 100,000 rows without touching them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, Bools, Int64s
from tracelens.reporting.printable import printable
from tracelens.tui.rows import cut
from tracelens.tui.search import Query

SAMPLE: Final = 200
"""Rows that are looked at for the width of a column, beside the extremes."""
NARROWEST: Final = 12
"""Cells that a column which gives way keeps."""


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one kind and how a cell reads; None and NaN are empty cells."""

    name: str
    values: npt.NDArray[Any] | Sequence[Any]
    text: Callable[[Any], str] = str
    align: str = "<"
    spare: bool = False
    """Left out where there is no room."""
    gives_way: bool = False
    """Takes the room that is left."""
    least: int = NARROWEST
    """Cells that it keeps where it gives way."""
    shorten: Callable[[str, int], str] = cut
    """Gives what is shown of a cell that does not fit."""

    def __len__(self) -> int:
        return len(self.values)

    def cell(self, row: int) -> str:
        """The text of one cell."""
        value = self.values[row]
        return "" if value is None or value != value else self.text(value)

    @cached_property
    def keys(self) -> npt.NDArray[Any]:
        """What is sorted by: numbers as they are, text by rank; missing values are NaN or below all."""
        return self._array if self.is_number else self._ranked[1]

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return self._array.dtype.kind in "iufb"

    @cached_property
    def _array(self) -> npt.NDArray[Any]:
        if isinstance(self.values, np.ndarray):
            return self.values
        return np.array(self.values, dtype=None if self.values and _all_numbers(self.values) else object)

    @cached_property
    def _ranked(self) -> tuple[npt.NDArray[Any], Int64s]:
        """Distinct texts in order, and the rank of each row's."""
        texts = np.array(["" if value is None else str(value) for value in self._array.tolist()], dtype=object)
        return np.unique(texts, return_inverse=True) if len(texts) else (texts, np.empty(0, np.int64))

    def accepted(self, query: Query) -> Bools:
        """Which rows a query asks for; each distinct text is asked once."""
        distinct, rank = self._ranked
        return query.mask(distinct.tolist())[rank] if len(rank) else np.empty(0, np.bool_)

    @cached_property
    def width(self) -> int:
        """Cells that the name and a sample of the values need."""
        rows = set(np.linspace(0, len(self) - 1, min(SAMPLE, len(self)), dtype=np.int64).tolist())
        if len(self) and self.is_number:
            rows |= {int(np.argmax(self.keys)), int(np.argmin(self.keys))}
        return max([len(self.name) + 1, *(len(self.cell(row)) for row in rows)])

    @cached_property
    def is_empty(self) -> bool:
        """Whether there are cells, and none of them has a text."""
        return len(self) > 0 and not any(self.cell(row) for row in range(len(self)))


def _all_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


class Table:
    """Columns of one length and the rows shown, in order."""

    def __init__(self, columns: Sequence[Column], *, sort: int = ABSENT, descending: bool = True) -> None:
        self.columns = tuple(columns)
        self.size = len(columns[0]) if columns else 0
        self.sorted_by = sort
        self.descending = descending
        self.query: Query | None = None
        self.found: Query | None = None
        self.order: Int64s = np.arange(self.size)
        self._arrange()

    def __len__(self) -> int:
        return len(self.order)

    def sort(self, column: int, *, descending: bool | None = None) -> None:
        """Sort by a column; numbers begin with the largest unless asked otherwise."""
        self.sorted_by = column % max(len(self.columns), 1)
        numbers = bool(self.columns) and self.columns[self.sorted_by].is_number
        self.descending = numbers if descending is None else descending
        self._arrange()

    def adopt(self, other: Table) -> None:
        """Sort, filter and search as another table of the same columns does."""
        self.sorted_by, self.descending = other.sorted_by, other.descending
        self.query, self.found = other.query, other.found
        self._arrange()

    def filter(self, query: Query | None) -> None:
        """Show only rows in which any text is asked for."""
        self.query = query
        self._arrange()

    def _arrange(self) -> None:
        rows = np.flatnonzero(self._accepted(self.query)) if self.query else np.arange(self.size)
        if self.sorted_by != ABSENT and self.columns:
            keys = self.columns[self.sorted_by].keys[rows]
            missing = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(len(keys), np.bool_)
            by_value = np.argsort(-keys if self.descending else keys, kind="stable")
            rows = rows[np.concatenate([by_value[~missing[by_value]], by_value[missing[by_value]]])]
        self.order = rows

    def _accepted(self, query: Query) -> Bools:
        texts = [column.accepted(query) for column in self.columns if not column.is_number]
        together = np.logical_and if query.inverse else np.logical_or
        return together.reduce(texts) if texts else np.zeros(self.size, np.bool_)

    def next_match(self, position: int, direction: int) -> int:
        """The next place in the order whose row the search asks for, around the end; ABSENT without one."""
        if self.found is None:
            return ABSENT
        places = np.flatnonzero(self._accepted(self.found)[self.order])
        if not len(places):
            return ABSENT
        side = "right" if direction > 0 else "left"
        at = int(np.searchsorted(places, position, side=side)) - (direction < 0)
        return int(places[at % len(places)])

    def widths(self, width: int) -> list[int]:
        """Cells of each column so that all fit; 0 leaves one out. Columns that give way share what is left."""
        needed = [0 if column.spare and column.is_empty else column.width for column in self.columns]
        chosen = [min(need, c.least) if c.gives_way else need for c, need in zip(self.columns, needed, strict=True)]
        for index in reversed([i for i, column in enumerate(self.columns) if column.spare]):
            if sum(chosen) + sum(map(bool, chosen)) > width:
                chosen[index] = 0
        left = width - sum(chosen) - sum(map(bool, chosen))
        giving = [i for i, column in enumerate(self.columns) if column.gives_way and chosen[i]]
        for done, index in enumerate(sorted(giving, key=lambda i: needed[i])):
            more = min(max(left, 0) // (len(giving) - done), needed[index] - chosen[index])
            chosen[index] += more
            left -= more
        return chosen

    def heading(self, widths: Sequence[int]) -> str:
        """The names of the columns, with an arrow on the one that is sorted by."""
        arrow = "▾" if self.descending else "▴"
        names = [f"{c.name}{arrow if i == self.sorted_by else ''}" for i, c in enumerate(self.columns)]
        return self._line(names, widths)

    def line(self, row: int, widths: Sequence[int]) -> str:
        """The cells of one row (of the columns, not of the order)."""
        return self._line([column.cell(row) for column in self.columns], widths)

    def markdown(self, most: int) -> str:
        """The first rows of the order as a Markdown table."""
        dashes = ["---:" if column.align == ">" else "---" for column in self.columns]
        rows = [[printable(column.cell(row)) for column in self.columns] for row in self.order[:most].tolist()]
        lines = [[column.name for column in self.columns], dashes, *rows]
        return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        fitted = [
            f"{column.shorten(cell, width):{column.align}{width}}"
            for column, cell, width in zip(self.columns, cells, widths, strict=True)
            if width
        ]
        return " ".join(fitted)
