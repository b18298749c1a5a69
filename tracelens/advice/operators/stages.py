"""Reductions of few results over much: generated code makes them in stages, each of which is a kernel.

[Inductor's reduction_split_factor and Reduction.num_splits]"""

from __future__ import annotations

from math import prod

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, read_arguments, tensors, whole_numbers
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Floats, Int64s, Trace


def reduced(trace: Trace, operator: Int64s) -> Floats:
    """(n, 2) Elements that each result of n operators is made of, for dimensions in the second argument and for those
    in the third; 0 where none are given."""
    return read_arguments(trace, operator, (A.SHAPES, A.CONCRETE), _reduced)


def grouped(trace: Trace, operator: Int64s) -> Floats:
    """(n) Results of n normalisations of groups: one for each group of each sample; 0 where that is not told."""
    return read_arguments(trace, operator, (A.SHAPES, A.CONCRETE), _grouped)[:, 0]


def outer_in_stages(over: Floats, results: Floats) -> Bools:
    """Whether reductions over leading dimensions are split: over more than the threads of one block take, and so few
    results that those would leave the device idle."""
    return (over > C.SPLIT_OUTER) & (results < C.PLENTY_OUTER)


def inner_in_stages(over: Floats, results: Floats) -> Bools:
    """The same along the last dimensions."""
    return (over > C.SPLIT_INNER) & (results < C.PLENTY_INNER)


def _reduced(shapes: list[Json], concrete: list[Json]) -> tuple[float, float]:
    of = tensors(shapes[0]) if shapes else []
    return (_over(of[0], concrete[1:2]), _over(of[0], concrete[2:3])) if of else (0.0, 0.0)


def _over(shape: list[int], dims: list[Json]) -> float:
    given = whole_numbers(dims[0]) if dims else []
    return prod((shape[dim] for dim in {dim % len(shape) for dim in given}), start=1.0) if given else 0.0


def _grouped(_: list[Json], concrete: list[Json]) -> tuple[float]:
    """Samples are the fourth argument of a normalisation of groups, groups its seventh."""
    given = [number for at in (3, 6) if at < len(concrete) for number in whole_numbers(concrete[at])]
    return (prod(given, start=1.0) if len(given) == 2 else 0.0,)


def stages(*, one: Bools, columns: Bools, moments: Floats, over: Floats, elements: Floats, parameters: Bools) -> Floats:
    """Kernels beside its first that each of n operators takes.

    one: reductions to one value; columns: over leading dimensions, of so many elements (`over`) each; moments: results
    of a normalisation of groups; parameters: gradients of a normalisation's weight and bias, each with a second
    stage."""
    results = np.where(moments > 0, moments, 1.0)
    inner = one & inner_in_stages(elements / results, results)
    outer = columns & outer_in_stages(over, elements / np.maximum(over, 1))
    return np.where(outer & parameters, 2.0, 1.0 * (inner | outer))
