"""A table as columns: numbers are at hand, texts are made only for the rows that somebody looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, Bools, Int64s

if TYPE_CHECKING:
    import pandas as pd

At: TypeAlias = Int64s | Bools | slice


@dataclass(frozen=True, eq=False)
class Told:
    """A column whose values are made when they are first asked for."""

    rows: npt.NDArray[np.integer]
    """(n) What the values are told of: rows of the trace."""
    tell: Callable[[npt.NDArray[np.integer]], npt.NDArray[np.object_]]

    def __getitem__(self, at: At) -> Told:
        return replace(self, rows=self.rows[at])

    @cached_property
    def values(self) -> npt.NDArray[np.object_]:
        """(n) One for each row."""
        return self.tell(self.rows) if len(self.rows) else np.empty(0, dtype=object)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length. Texts are None, and integers of `optional` columns ABSENT, where there is no value."""

    columns: Mapping[str, npt.NDArray[Any] | Told]
    """One of them is `row`: the row of the trace behind each row."""
    optional: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self["row"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The values of a column; KeyError for a name that the table lacks."""
        column = self.columns[name]
        return column.values if isinstance(column, Told) else column

    def take(self, at: At) -> Table:
        """The rows at these positions, of this mask or slice."""
        return replace(self, columns={name: column[at] for name, column in self.columns.items()})

    def only(self, name: str, *values: object) -> Table:
        """The rows with one of these values in a column."""
        column = self[name]
        return self.take(np.flatnonzero(np.logical_or.reduce([column == value for value in values])))

    def first(self, most: int) -> Table:
        """The first rows, at most so many."""
        return self.take(slice(most))

    def largest(self, name: str, most: int) -> Table:
        """The rows with the largest values of a numeric column, largest first, at most so many."""
        return self.take(np.argsort(-self[name], kind="stable")[:most])

    def plain(self, name: str) -> list[Any]:
        """A column as Python values, None where there is none."""
        values = self[name].tolist()
        return [None if value == ABSENT else value for value in values] if name in self.optional else values

    def frame(self) -> pd.DataFrame:
        """A DataFrame; text stays Python text, optional integers are of dtype Int64."""
        # Deferred: importing pandas takes longer than reading a small trace.
        import pandas as pd

        found = pd.DataFrame({name: pd.Series(self[name], dtype=self[name].dtype) for name in self.columns})
        for name in self.optional:
            found[name] = found[name].astype("Int64").mask(found[name] == ABSENT)
        return found
