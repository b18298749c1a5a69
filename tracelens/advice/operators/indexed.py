"""Sizes of what is read by indices whose own sizes a trace does not record, as of tensor[indices]."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np

from tracelens.advice.arguments import Json, read_pairs, tensors, texts, width
from tracelens.advice.operators.sizes import Sizes
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Floats, Int64s, Trace

READERS: Final = 6
"""Works behind a read by indices among which one takes its result. [judgement]"""


def with_indexed(trace: Trace, operator: Int64s, indexes: Bools, matrix: Bools, sizes: Sizes[Floats]) -> Sizes[Floats]:
    """The sizes, of which those of reads by unknown indices are what the next work takes whose tensor has the table's
    rows; those of the table where no such work follows.

    indexes: which of n operators read by indices; matrix: which multiply by a matrix of parameters."""
    unknown = indexes & (_of_unknown(trace, operator)[:, 0] > 0)
    at = np.flatnonzero(unknown)
    if not len(at):
        return sizes
    columns = np.array(sizes)
    found = columns[:, at].T
    for ahead in range(READERS, 0, -1):
        behind = np.minimum(at + ahead, len(operator) - 1)
        taken = _taken(trace, operator[at], operator[behind], matrix[behind])
        reads = (taken[:, 0] > 0) & ~unknown[behind]
        found = np.where(reads[:, None], taken, found)
    columns[:, at] = found.T
    return Sizes(*columns)


def _of_unknown(trace: Trace, operator: Int64s) -> Floats:
    shapes = texts(trace, A.SHAPES, operator)
    return read_pairs(trace, shapes, np.full(len(shapes), ABSENT, dtype=np.int64), _unknown)


def _unknown(shapes: list[Json], _: list[Json]) -> tuple[float]:
    """Whether the table alone has dimensions."""
    return (float(len(shapes) > 1 and bool(tensors(shapes[0])) and not any(map(tensors, shapes[1:]))),)


def _taken(trace: Trace, table: Int64s, reader: Int64s, matrix: Bools) -> Floats:
    """(n, 9) Sizes of what each reader takes of a table's rows, in the order of Sizes; zeros where it takes none."""
    own, other = (texts(trace, A.SHAPES, rows) for rows in (table, reader))
    whole, first = (read_pairs(trace, own, other, read) for read in (_of_any, _of_first))
    elements = np.where(matrix[:, None], first, whole)
    types = texts(trace, A.DTYPES, table)
    size = elements[:, :1] * read_pairs(trace, types, types, lambda given, _: (float(width(given, 0)),))
    none = np.zeros_like(size)
    told = (elements[:, :1] > 0).astype(np.float64)
    return np.hstack([elements[:, :1], size, told, none, none, elements[:, 1:], size, size, none])


def _of_any(table: list[Json], reader: list[Json]) -> tuple[float, float]:
    return _rows_like(table, [dims for shape in reader for dims in tensors(shape)])


def _of_first(table: list[Json], reader: list[Json]) -> tuple[float, float]:
    """Of a product with parameters, whose first matrix is its input."""
    return _rows_like(table, [dims for shape in reader for dims in tensors(shape) if len(dims) > 1][:1])


def _rows_like(table: list[Json], given: list[list[int]]) -> tuple[float, float]:
    """Elements and row length of the first tensor of rows like the table's; zeros where none is."""
    row = tensors(table[0])[0][1:]
    alike = [dims for dims in given if _holds(dims, row)]
    return (float(prod(alike[0])), float(row[-1])) if alike else (0.0, 0.0)


def _holds(dims: list[int], row: list[int]) -> bool:
    """Whether a tensor may be of such rows: turned or not, or in one dimension with what picks them."""
    depth = len(row)
    if len(dims) > depth > 0 and sorted(dims[-depth:]) == sorted(row):
        return True
    return len(dims) >= depth > 1 and dims[1 - depth :] == row[1:] and dims[-depth] % max(row[0], 1) == 0
