"""The tensors that a replay copies into its static inputs, as far as a trace shows them."""

from __future__ import annotations

import re
from math import prod
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, parsed, tensors, width
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators import POINTWISE_PAIR
from tracelens.advice.region import Region
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Category

BATCHED: Final = re.compile(r"bmm|matmul|attention")
"""Products of which every argument is an input if none is a matrix of parameters."""
TABLE_FIRST: Final = re.compile(r"embedding|^index|gather|take")
"""Operators whose first argument is a table of parameters; the input follows it."""


def input_copies(region: Region, bandwidth: float) -> Estimate:
    """Device time to copy the step's inputs, in ns.

    A trace does not say which tensors are inputs; those of the step's first operator stand in for them. There may
    be as much again, hence the range's end."""
    size = _first_input_bytes(region)
    copy = 2 * size / bandwidth
    return Estimate(C.INPUT_COPY + copy, copy, 2 * (C.INPUT_COPY + copy))


def _first_input_bytes(region: Region) -> int:
    trace = region.trace
    operator = next((row for row in trace.links.operator[region.work].tolist() if row != ABSENT), ABSENT)
    shapes = trace.args.get(A.SHAPES)
    if operator == ABSENT or shapes is None:
        return 0
    outer = _outermost(region, operator)
    name = trace.names[int(trace.events.name[outer])].removeprefix("aten::")
    return _activation_bytes(name, *_arguments(region, outer))


def _outermost(region: Region, row: int) -> int:
    """The outermost aten operator around an operator: the one that the user's code called."""
    trace = region.trace
    while True:
        parent = int(trace.links.parent[row])
        if parent == ABSENT or trace.events.category[parent] != Category.OPERATOR:
            return row
        if not trace.names[int(trace.events.name[parent])].startswith("aten::"):
            return row
        row = parent


def _arguments(region: Region, row: int) -> tuple[list[Json], list[Json]]:
    """Shapes and element types of an operator's arguments; [] where not recorded."""
    columns = (region.trace.args.get(key) for key in (A.SHAPES, A.DTYPES))
    texts = [int(column.at(np.array([row]))[0]) if column is not None else ABSENT for column in columns]
    return parsed(region.trace, texts[0]), parsed(region.trace, texts[1])


def _activation_bytes(name: str, shapes: list[Json], dtypes: list[Json]) -> int:
    sizes = [sum(prod(dims) for dims in tensors(shape)) * width(dtypes, at) for at, shape in enumerate(shapes)]
    given = [dims for shape in shapes for dims in tensors(shape)]
    if POINTWISE_PAIR.match(name) or (BATCHED.search(name) and all(len(dims) > 2 for dims in given)):
        return sum(sizes)
    at = 1 if TABLE_FIRST.search(name) or name.startswith("addmm") else 0
    return sizes[at] if at < len(sizes) else 0
