"""How big the tensors among an operator's arguments are."""

from __future__ import annotations

from math import prod
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np

from tracelens.advice.arguments import BYTES, HALF, ONE_BYTE, Json, read_arguments, tensors, width
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Floats, Int64s, Trace

T = TypeVar("T")


class Sizes(NamedTuple, Generic[T]):
    """Of one operator, or columns over several. What each is stands at the columns of Operators."""

    elements: T
    bytes: T
    inputs: T
    matched: T
    listed: T
    row: T
    read: T
    written: T
    third: T


NONE: Final = Sizes(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Those of an operator without tensors."""


def read_sizes(trace: Trace, operator: Int64s, gathers: Bools, picks: Bools, broadcasts: Bools) -> Sizes[Floats]:
    """Sizes of n operators; of those that gather rows or pick elements, of what they read by indices, and of those that
    broadcast each tensor to another's dimensions, of what they make, where that can be told."""
    own, *others = (
        read_arguments(trace, operator, (A.SHAPES, A.DTYPES), read)
        for read in (_of_arguments, _gathered, _picked, _broadcast)
    )
    masks = [mask & (sizes[:, 0] > 0) for mask, sizes in zip((gathers, picks, broadcasts), others, strict=True)]
    return Sizes(*np.select([mask[:, None] for mask in masks], others, own).T)


def _of_arguments(shapes: list[Json], dtypes: list[Json]) -> Sizes[float]:
    """Of one operator's arguments."""
    per_argument = [(tensors(shape), width(dtypes, at)) for at, shape in enumerate(shapes)]
    listed = max((len(group) for group, _ in per_argument), default=0)
    found = [(prod(dims), size, dims[-1]) for group, size in per_argument for dims in group]
    single = [
        width(dtypes, at) for at, dims in enumerate(shapes) if dims == [] and at < len(dtypes) and _typed(dtypes[at])
    ]
    if not found and not single:
        return NONE._replace(listed=float(listed))
    if not found:
        read, written = float(single[-1]), float(single[0])
        return Sizes(1.0, written, float(len(single)), 0.0, 0.0, 1.0, read, written, 0.0)
    elements, size, row = max(found, key=lambda tensor: (tensor[0], tensor[1]))
    smaller, third = (*sorted({count for count, _, _ in found if count < elements}, reverse=True), 0, 0)[:2]
    full = [count * width for count, width, _ in found if count == elements]
    return Sizes(elements, elements * size, len(full), smaller, listed, row, full[-1], full[0], third)


def _gathered(shapes: list[Json], dtypes: list[Json]) -> Sizes[float]:
    """Of the rows that are read by indices from a table; zeros where that cannot be told."""
    table, indices = _indexed(shapes)
    rest = table[len(indices) :] if indices else []
    return _result(max(map(prod, indices)) * prod(rest), rest[-1], dtypes) if rest else NONE


def _picked(shapes: list[Json], dtypes: list[Json]) -> Sizes[float]:
    """Of as many elements as indices of a tensor's own rank; zeros where that cannot be told."""
    table, indices = _indexed(shapes)
    alike = [dims for dims in indices[:1] if len(dims) == len(table)]
    return _result(prod(alike[0]), alike[0][-1], dtypes) if alike else NONE


def _broadcast(shapes: list[Json], dtypes: list[Json]) -> Sizes[float]:
    """Of what is larger than each argument, such as all pairs of two lists: no argument is as large."""
    given = [dims for shape in shapes for dims in tensors(shape)]
    rank = max(map(len, given), default=0)
    made = [max(dims) for dims in zip(*([1] * (rank - len(dims)) + dims for dims in given), strict=True)]
    own = _of_arguments(shapes, dtypes)
    if not 0 < own.elements < prod(made):
        return NONE
    elements, row = float(prod(made)), float(made[-1])
    size = elements * own.bytes / own.elements
    return own._replace(
        elements=elements,
        bytes=size,
        inputs=0.0,
        matched=own.elements,
        row=row,
        read=own.bytes,
        written=size,
        third=own.matched,
    )


def _indexed(shapes: list[Json]) -> tuple[list[int], list[list[int]]]:
    """Dimensions of the tensor that is read and of its indices, the next argument with any."""
    table = tensors(shapes[0]) if shapes else []
    rest = [found for found in map(tensors, shapes[1:]) if found]
    return (table[0], rest[0]) if len(table) == 1 and rest else ([], [])


def _result(elements: int, row: int, dtypes: list[Json]) -> Sizes[float]:
    size = float(elements * width(dtypes, 0))
    return Sizes(float(elements), size, 1.0, 0.0, 0.0, float(row), size, size, 0.0)


def _typed(dtype: Json) -> bool:
    """Whether an argument without dimensions is a tensor of one value and no plain number or text."""
    return str(dtype) in BYTES or str(dtype) in ONE_BYTE or bool(HALF.search(str(dtype)))
