"""What the operators of a step read: their names, and the shapes and element types of their arguments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Final

import numpy as np

from tracelens.advice.arguments import Json, parsed, tensors
from tracelens.advice.step import called
from tracelens.advice.step.region import Region
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Category, Int64s, Trace
from tracelens.model.names import named
from tracelens.model.once import once

VIEW: Final = re.compile(r"^aten::as_strided$")
"""The operator by which every view of a part of a tensor is made: of the tensor, the part's shape, strides and
place."""


def name_of(region: Region, operator: int) -> str:
    """An operator's name without its namespace."""
    return region.trace.names[int(region.trace.events.name[operator])].removeprefix("aten::")


def outermost(region: Region, row: int) -> int:
    """The operator that the user's code called, around an operator: the outermost of aten, else itself."""
    found = int(called.outermost(region.trace, np.array([row]))[0])
    return row if found == ABSENT else found


def arguments_of(region: Region, row: int) -> tuple[list[Json], list[Json]]:
    """Shapes and element types of an operator's arguments; [] where not recorded."""
    return argument_of(region, A.SHAPES, row), argument_of(region, A.DTYPES, row)


def argument_of(region: Region, key: str, row: int) -> list[Json]:
    """One recorded argument of an operator; [] where not recorded."""
    column = region.trace.args.get(key)
    return parsed(region.trace, int(column.at(np.array([row]))[0])) if column is not None else []


def taken_apart(region: Region, row: int) -> dict[str, int]:
    """Elements of the tensors that views since the last launch took parts of, by the shape of the part."""
    whole: dict[str, int] = {}
    for shapes, sizes in _views(region, row):
        if shapes and sizes and isinstance(sizes[0], str):
            whole.setdefault(sizes[0], whole.get(str(shapes[0]), prod(shapes[0])))
    return whole


def tensors_apart(region: Region, row: int) -> dict[str, int]:
    """How many tensors those views took several parts of, by the shape of the part: as many as views took a part at
    each place, where those are alike."""
    seen = Counter((str(given[0]), str(given[-1])) for _, given in _views(region, row) if given)
    counts: dict[str, list[int]] = {}
    for (part, _), count in seen.items():
        counts.setdefault(part, []).append(count)
    return {part: each[0] for part, each in counts.items() if len(each) > 1 and len(set(each)) == 1}


def _views(region: Region, row: int) -> Iterator[tuple[list[list[int]], list[Json]]]:
    """Shapes of what each view since the last launch before an operator took a part of; and of the part its shape,
    strides and place."""
    start, (launched, viewed, views) = int(region.trace.events.start[row]), _launches_and_views(region.trace)
    before = int(np.searchsorted(launched, start))
    first = np.searchsorted(viewed, launched[before - 1] if before else 0, side="right")
    for view in views[first : np.searchsorted(viewed, start)].tolist():
        yield tensors(argument_of(region, A.SHAPES, view)), argument_of(region, A.CONCRETE, view)[1:4]


@once
def _launches_and_views(trace: Trace) -> tuple[Int64s, Int64s, Int64s]:
    """Starts of the calls that launched work, one for each piece of it, and starts and rows of the views, each in order
    of the starts."""
    events, launch = trace.events, trace.links.launch
    operators = np.flatnonzero(events.category == Category.OPERATOR)
    views = operators[named(trace, operators, VIEW)]
    views = views[np.argsort(events.start[views], kind="stable")]
    return np.sort(events.start.take(launch[np.flatnonzero(launch != ABSENT)])), events.start[views], views


def filled(shapes: list[Json]) -> list[list[int]]:
    """Dimensions of the arguments that hold something."""
    return [dims for shape in shapes for dims in tensors(shape) if prod(dims)]
