"""Columns of a run of events, as one pass over a slab fills them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.loading.careful import NO_PHASE, Record
from tracelens.loading.fields import DENSE, DEVICE, SPARSE_KINDS, STREAM, Kind
from tracelens.loading.numbers import LONGEST, clamped
from tracelens.loading.tables import Tables
from tracelens.model.events import ABSENT, NO_STREAM, Bools, Int64s, Written

NO_TIME: Final = -(2**63)
"""A start that the event does not give."""
OUT_OF_RANGE: Final = "numbers too large for their column"

Sparse: TypeAlias = tuple[npt.NDArray[np.integer], npt.NDArray[Any]]
"""Rows within the batch, ascending, and their values."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Written):
    """Columns of n events; times in ns on the file's clock, durations as given. Its arrays are filled in place."""

    sparse: dict[str, Sparse] = field(default_factory=dict[str, Sparse])

    def head(self, count: int) -> Batch:
        """The first `count` events."""
        before = {name: int(np.searchsorted(rows, count)) for name, (rows, _) in self.sparse.items()}
        sparse = {name: (rows[: before[name]], values[: before[name]]) for name, (rows, values) in self.sparse.items()}
        return Batch(**{name: column[:count] for name, column in self.columns().items()}, sparse=sparse)

    def of(self, kept: Bools) -> Batch:
        """The events of a mask."""
        place = np.cumsum(kept) - 1
        sparse: dict[str, Sparse] = {}
        for name, (rows, values) in self.sparse.items():
            sparse[name] = place[rows[kept[rows]]], values[kept[rows]]
        return Batch(**{name: column[kept] for name, column in self.columns().items()}, sparse=sparse)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns that every event fills, by name."""
        return {column.name: getattr(self, column.name) for column in fields(Written)}


def empty_batch(offset: Int64s, length: Int64s) -> Batch:
    """A batch of events at these places of the file that gives nothing yet."""
    n = len(offset)
    return Batch(
        phase=np.full(n, NO_PHASE, dtype=np.uint8),
        category=np.zeros(n, dtype=np.uint8),
        name=np.zeros(n, dtype=np.int32),
        lane=np.zeros(n, dtype=np.int32),
        start=np.full(n, NO_TIME, dtype=np.int64),
        duration=np.zeros(n, dtype=np.int64),
        correlation=np.full(n, ABSENT, dtype=np.int64),
        external_id=np.full(n, ABSENT, dtype=np.int64),
        device=np.full(n, ABSENT, dtype=np.int32),
        stream=np.full(n, NO_STREAM, dtype=np.int32),
        offset=offset,
        length=length.astype(np.int32),
    )


def fill(batch: Batch, rows: Sequence[int], records: Sequence[Record], tables: Tables) -> None:
    """Write decoded records into rows (ascending) of a batch; their sparse values join those already there."""
    extra: dict[str, tuple[list[int], list[Any]]] = {}
    for row, record in zip(rows, records, strict=True):
        tables.lanes.learn(record)
        for kind, example in record.unread:
            tables.repairs.add(kind, example, int(batch.offset[row]))
        for column, value in record.values.items():
            if column not in DENSE:
                at, values = extra.setdefault(column, ([], []))
                at.append(row)
                values.append(_sparse_value(value, int(batch.offset[row]), tables))
    if rows:
        _fill_columns(batch, rows, records, tables)
    for column, (at, values) in extra.items():
        batch.sparse[column] = _joined(batch.sparse.get(column), np.array(at, dtype=np.int64), values, column)


def _fill_columns(batch: Batch, rows: Sequence[int], records: Sequence[Record], tables: Tables) -> None:
    at = np.array(rows, dtype=np.int64)
    placed = list(zip(records, batch.offset[at].tolist(), strict=True))
    batch.phase[at] = [record.phase for record in records]
    batch.category[at] = [tables.category(record.category) for record in records]
    batch.name[at] = [tables.names.id(record.name) for record in records]
    batch.lane[at] = [tables.lanes.id(record.pid, record.tid) for record in records]
    batch.start[at] = [_time(record.start, NO_TIME, offset, tables) for record, offset in placed]
    batch.duration[at] = [_time(record.duration, 0, offset, tables) for record, offset in placed]
    for column in DENSE:
        getattr(batch, column)[at] = [
            _id(column, record.values.get(column), offset, tables) for record, offset in placed
        ]


def _time(value: int | None, absent: int, offset: int, tables: Tables) -> int:
    """A time that does not fit counts as absent, as an id does: all clamped ones would fall together."""
    if value is None or abs(value) <= LONGEST:
        return absent if value is None else value
    tables.repairs.add(OUT_OF_RANGE, str(value), offset)
    return absent


def _id(column: str, value: float | str | None, offset: int, tables: Tables) -> int:
    """An id that does not fit counts as absent: a clamped one would link to the wrong event."""
    absent = NO_STREAM if column == STREAM else ABSENT
    if not isinstance(value, int):
        return absent
    narrow = column in (DEVICE, STREAM)
    if narrow and 2**31 <= value < 2**32:
        return value - 2**32  # a negative number printed as unsigned
    if clamped(value, 32 if narrow else 64) == value:
        return value
    tables.repairs.add(OUT_OF_RANGE, str(value), offset)
    return absent


def _sparse_value(value: int | float | str, offset: int, tables: Tables) -> int | float:
    """A value as its column holds it: a text by its number, a number that does not fit clamped."""
    if isinstance(value, str):
        return tables.names.id(value)
    if isinstance(value, int) and clamped(value, 64) != value:
        tables.repairs.add(OUT_OF_RANGE, str(value), offset)
        return clamped(value, 64)
    return value


def _joined(known: Sparse | None, rows: npt.NDArray[np.int64], values: list[Any], column: str) -> Sparse:
    """Sparse values with more of their column, rows ascending."""
    added = np.array(values, dtype=sparse_dtype(column))
    if known is None:
        return rows, added
    all_rows, all_values = np.concatenate((known[0], rows)), np.concatenate((known[1], added))
    order = np.argsort(all_rows, kind="stable")
    return all_rows[order], all_values[order]


def sparse_dtype(column: str) -> npt.DTypeLike:
    """Type of the values of a sparse column."""
    kind = SPARSE_KINDS[column]
    return np.float64 if kind == Kind.FLOAT else np.int32 if kind == Kind.TEXT else np.int64
