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


def read_sizes(trace: Trace, operator: Int64s, gathers: Bools) -> Sizes[Floats]:
    """Sizes of n operators; of those that gather, of what they read by indices, where that can be told."""
    own, rows = (read_arguments(trace, operator, (A.SHAPES, A.DTYPES), read) for read in (_of_arguments, _gathered))
    return Sizes(*np.where((gathers & (rows[:, 0] > 0))[:, None], rows, own).T)


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
    """Of what is read by indices from a table; zeros where that cannot be told."""
    table, indices = (tensors(shape) for shape in shapes[:2]) if len(shapes) > 1 else ([], [])
    rest = table[0][len(indices) :] if len(table) == 1 else []
    if not rest or not indices:
        return NONE
    elements = float(max(map(prod, indices)) * prod(rest))
    size = elements * width(dtypes, 0)
    return Sizes(elements, size, 1.0, 0.0, 0.0, float(rest[-1]), size, size, 0.0)


def _typed(dtype: Json) -> bool:
    """Whether an argument without dimensions is a tensor of one value and no plain number or text."""
    return str(dtype) in BYTES or str(dtype) in ONE_BYTE or bool(HALF.search(str(dtype)))
