"""What the compiler can do with the operators of a step, and how big their tensors are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.arguments import LARGEST, Json, read_arguments, tensors, whole_numbers
from tracelens.advice.operators.autocast import converts_parameters, returns_gradient
from tracelens.advice.operators.functions import ROOT, time_of_functions
from tracelens.advice.operators.indexed import with_indexed
from tracelens.advice.operators.portions import read_once
from tracelens.advice.operators.roles import Role, find_roles, given_in_place, inlined, kept_last, reduced_dims
from tracelens.advice.operators.sizes import Sizes, read_sizes
from tracelens.advice.operators.stages import grouped, inner_in_stages, reduced, stages
from tracelens.advice.operators.tables import computed_anew
from tracelens.advice.operators.unused import unused
from tracelens.advice.step.before import before
from tracelens.advice.step.called import Names, around, kernel_names, operator_names
from tracelens.advice.step.region import Region
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Category, Floats, Int64s, Trace
from tracelens.model.names import bearing, named
from tracelens.model.nesting import nearest


@dataclass(frozen=True, slots=True, eq=False)
class Operators:
    """Columns over the n pieces of device work of a region."""

    role: Int64s
    name: Int64s
    """Index of the operator's row; ABSENT where none launched it."""
    sized: Bools
    """Whether the operator's shapes are recorded; sizes of the others are 0 until they are inferred."""
    elements: Floats
    """Elements of the operator's largest tensor."""
    bytes: Floats
    """Bytes of that tensor."""
    read: Floats
    """Bytes of the last argument of that many elements: what a copy reads."""
    written: Floats
    """Bytes of the first one: what a copy writes."""
    inputs: Floats
    """Tensors of that size among the arguments."""
    matched: Floats
    """Elements of the next smaller tensor among the arguments; 0 when there is none."""
    third: Floats
    """... and of the next smaller after that."""
    portions: Floats
    """In how many launches the operator goes through its tensors."""
    listed: Floats
    """Tensors in the longest list argument."""
    row: Floats
    """Elements of the last dimension of the largest tensor."""
    shrinks: Bools
    """A reduction: its result is smaller than the tensor it reads."""
    subtracted: Bools
    """A maximum that the operator around it subtracts from what it reduces next, in the same way: one kernel does both,
    unless in stages."""
    normalises: Bools
    """Two reductions in one operator, the second of what the first gave: a mean and a variance, a maximum and a sum."""
    twice: Bools
    """A normalisation of rows so few and so long that it reduces them twice in stages: it reads them for each."""
    results: Floats
    """Elements that a reduction over given dimensions leaves; 1 for the gradient of a single value, 0 of other work."""
    stages: Floats
    """Kernels beside its first that a reduction takes."""
    arithmetic: Floats
    """ns per element that generated code spends on the operator's function."""
    anew: Floats
    """... and on tables that it computes where they are read."""
    product: Bools
    """A matrix product."""
    single_precision: Bools
    """One in float32."""
    biased: Bools
    """A matrix product that adds a bias."""
    bias_kernel: Bools
    """Of a matrix product's kernels, one that only applies bias and scale."""
    few_rows: Bools
    """A kernel for matrix products of few rows."""
    relaid: Bools
    """A convolution that runs channels first, of which the compiler asks channels last."""
    recurrent: Bools
    """A recurrent layer."""
    signs: Bools
    """The sign of complex numbers, which generated code calls several operators for."""
    positions: Bools
    """A reduction to a position: a block for each result, however long what that is of."""
    from_host: Bools
    """A copy from the host."""
    in_place: Bools
    """... into a tensor that was there before."""
    casts: Bools
    """A copy to another type or place."""
    places: Bools
    """A copy into a part of a tensor filled before: the gradient of a slice, padding."""
    updates: Bools
    """Writes into a tensor of its own size, which it reads beside another one."""
    differentiates: Bools
    """The formula of a gradient: it reads what the forward pass stored beside the gradient that it is given."""
    backward: Bools
    """Called for a gradient."""
    sums: Bools
    """The sum of two tensors."""
    layer: Bools
    """A normalisation of layers."""
    gathers: Bools
    """Reads rows of a table."""
    picks: Bools
    """Takes one element of each row, or gives one."""
    averages: Bools
    """Moves the mean of gradients, which an optimizer keeps beside that of their squares."""
    shifts: Bools
    """Reads its argument at other places than it writes."""
    leaves: Bools
    """Gives gradients of parameters alone, which nothing in the step but the optimizer reads."""
    standalone: Bools
    """An index sequence or the conversion of a parameter or of its gradient: a kernel of its own."""


def describe(region: Region) -> Operators:
    """What launched each piece of work, and what the compiler makes of it."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    plain = read_arguments(trace, operator, (A.DTYPES, A.CONCRETE), _plain)
    names, kernels = operator_names(trace, operator), kernel_names(region)
    sizes = _sizes(trace, operator, names)
    given = read_arguments(trace, operator, (A.SHAPES, A.CONCRETE), reduced_dims)
    whole = (plain[:, 0] > 0) & ~names.match(P.PARTS)
    roles = np.where(whole, Role.LIBRARY, find_roles(region, names, kernels, _of_given(names, given), sizes.row))
    over = _of_given(names, reduced(trace, operator))
    split = _split_rows(names, roles, sizes, over)
    roles = np.where(split, Role.FULL, roles)
    sizes, parts = read_once(operator, roles == Role.POINTWISE, sizes)
    own = time_of_functions(names, plain, _of_two(sizes)) + _rescaling(names, roles, operator)
    arithmetic = (own + C.WINDOW_READ * _windows(trace, operator, names)) / parts
    waves = names.match(P.WAVE) & (not region.training)
    casts = names.match(P.COPY) & converts_parameters(trace, operator) & ~_just_made(names, sizes)
    moments = np.where(names.match(P.GROUPED), grouped(trace, operator), 0.0)
    backward = _in_backward(trace, operator)
    single = (roles == Role.FULL) & names.match(P.REDUCTION) & backward
    return Operators(
        role=np.where(_vanishes(trace, operator, names, roles, sizes, casts), Role.VANISHES, roles),
        name=operator,
        arithmetic=arithmetic,
        backward=backward,
        portions=parts,
        anew=computed_anew(roles, sizes.elements, sizes.matched, waves, arithmetic),
        stages=_stages(names, roles, sizes, over, moments) + 2.0 * (split & _reduces_twice(names)),
        results=np.where(over > 0, sizes.elements / np.maximum(over, 1), np.where(single, 1.0, moments)),
        twice=split & _reduces_twice(names),
        updates=_updates(trace, operator, names, roles) & (sizes.inputs > 1),
        standalone=_for_library(names, roles) | kernels.match(P.TO_CHANNELS_LAST) | casts,
        signs=whole & names.match(P.SIGN),
        relaid=kernels.match(P.CHANNELS_FIRST) & kept_last(region, names),
        shrinks=names.match(P.REDUCTION) | names.match(P.VECTORS) | split,
        **_called(region, names, kernels),
        **_flags(names, kernels),
        **_columns(names, sizes),
    )


def _vanishes(trace: Trace, operator: Int64s, names: Names, roles: Int64s, sizes: Sizes[Floats], casts: Bools) -> Bools:
    """Work that the compiler leaves out, or computes where it is read. casts: conversions of parameters."""
    gone = casts & returns_gradient(trace, operator) & (sizes.row == sizes.elements)
    product = names.match(P.MATRIX_PRODUCT)
    gone |= inlined(roles, sizes.elements, sizes.listed) | given_in_place(roles, operator, product, sizes.listed)
    return gone | unused(trace, operator) | _diagonals(trace, operator)


def _for_library(names: Names, roles: Int64s) -> Bools:
    """Index sequences that a library call reads, for nothing but copies comes between; others are computed where they
    are used."""
    others = np.flatnonzero(~names.match(P.COPY))
    following = np.append(others, len(roles))[np.searchsorted(others, np.arange(len(roles)), side="right")]
    return names.match(P.SEQUENCE) & (np.append(roles, Role.LIBRARY)[following] == Role.LIBRARY)


def _in_backward(trace: Trace, operator: Int64s) -> Bools:
    """Whether a node of the graph of gradients called each operator."""
    return nearest(trace.links.parent, operator, bearing(trace, P.NODE)) != ABSENT


def _diagonals(trace: Trace, operator: Int64s) -> Bools:
    """Fills of the diagonals of identity matrices, behind those of the whole: generated code compares the indices."""
    identity = nearest(trace.links.parent, operator, bearing(trace, P.IDENTITY))
    return (identity != ABSENT) & (identity == before(identity, ABSENT))


def _sizes(trace: Trace, operator: Int64s, names: Names) -> Sizes[Floats]:
    sizes = read_sizes(trace, operator, *map(names.match, (P.GATHER, P.PICK, P.BROADCASTS)))
    return with_indexed(trace, operator, names.match(P.INDEXED), names.match(P.LAYER_PRODUCT), sizes)


def _of_given(names: Names, columns: Floats) -> Floats:
    """The column for dimensions in the argument in which each operator takes them."""
    return np.where(names.match(P.ORDERED), columns[:, 1], columns[:, 0])


def _stages(names: Names, roles: Int64s, sizes: Sizes[Floats], of: Floats, moments: Floats) -> Floats:
    """Kernels beside its first that each operator takes."""
    rows, channels = (sizes.elements / np.maximum(few, 1) for few in (sizes.row, sizes.matched))
    norms = np.where(names.match(P.FIXED), channels, rows)
    return stages(
        one=(roles == Role.FULL) & ~names.match(P.POSITION),
        columns=roles == Role.COLUMN,
        moments=moments,
        over=np.where(names.match(P.REDUCTION), of, norms),
        elements=sizes.elements,
        parameters=names.match(P.NORM_BACKWARD),
    )


def _updates(trace: Trace, operator: Int64s, names: Names, roles: Int64s) -> Bools:
    """Whether each operator computes in place."""
    in_place = (operator != ABSENT) & named(trace, operator, P.IN_PLACE)
    return in_place & (roles == Role.POINTWISE) & ~names.match(P.COPY)


def _just_made(names: Names, sizes: Sizes[Floats]) -> Bools:
    """Whether the work before computed on as many elements, as on a weight that is normalised before it is used."""
    alike = sizes.elements == before(sizes.elements, -1)
    return alike & (sizes.matched == 0) & before(~names.match(P.COPY), False)


def _split_rows(names: Names, roles: Int64s, sizes: Sizes[Floats], over: Floats) -> Bools:
    """Reductions along rows so few and so long that they are made in stages: like one to one value they end a kernel,
    and what follows reads again what they read."""
    reduces = names.match(P.NORMALISED) | (names.match(P.REDUCTION) & ~names.match(P.POSITION))
    row = np.where(names.match(P.REDUCTION) & (over > 0), over, sizes.row)
    return (roles == Role.ROW) & reduces & inner_in_stages(row, sizes.elements / np.maximum(row, 1))


def _reduces_twice(names: Names) -> Bools:
    """The second reduction is of what the first gave."""
    return names.match(P.NORMALISED) & ~names.match(P.LAYER_NORM) & ~names.match(P.DIFFERENTIATES)


def _rescaling(names: Names, roles: Int64s, operator: Int64s) -> Floats:
    """ns per element in which a normalisation with fixed statistics takes the root and the reciprocal of its variance:
    generated code does so for each element. [torch._decomp.decompositions.native_batch_norm_helper]"""
    last = np.append(operator[1:] != operator[:-1], True)[: len(operator)]
    return (ROOT + C.QUOTIENT) * (names.match(P.FIXED) & (roles == Role.POINTWISE) & last)


def _windows(trace: Trace, operator: Int64s, names: Names) -> Floats:
    """How often each operator reads an element of its tensor, for all the windows that it is in; 0 of one without."""
    read = read_arguments(trace, operator, (A.SHAPES, A.CONCRETE), _reads)[:, 0]
    return np.where(names.match(P.WINDOW), read, 0.0)


def _reads(shapes: list[Json], concrete: list[Json]) -> tuple[float]:
    """Elements of the window in the second argument over those of the step in the third, which is else the window."""
    dims = len(tensors(shapes[0])[0]) - 2 if shapes and tensors(shapes[0]) else 0
    window, step = (_numbers(concrete, at, dims) for at in (1, 2))
    return (min(prod(window, start=1.0), LARGEST) / min(max(prod(step or window, start=1.0), 1), LARGEST),)


def _numbers(concrete: list[Json], at: int, dims: int) -> list[int]:
    """Those in a text argument; a single one stands for all dimensions."""
    found = whole_numbers(str(concrete[at])) if at < len(concrete) else []
    return found * dims if len(found) == 1 else found


def _of_two(sizes: Sizes[Floats]) -> Bools:
    """Whether an operator takes a second tensor beside the largest."""
    return (sizes.inputs > 1) | (sizes.matched > 0)


def _columns(names: Names, sizes: Sizes[Floats]) -> dict[str, Any]:
    """The columns of Operators that the sizes of arguments tell, with the names."""
    inputs = np.where(names.match(P.COPY), np.minimum(sizes.inputs, 1), sizes.inputs)
    product = names.match(P.MATRIX_PRODUCT)
    return {
        "sized": sizes.elements > 0,
        "product": product,
        "single_precision": product & (sizes.bytes == 4 * sizes.elements),
        "sums": names.match(P.SUM) & (sizes.inputs > 1),
        **sizes._replace(inputs=inputs)._asdict(),
    }


def _called(region: Region, names: Names, kernels: Names) -> dict[str, Bools]:
    """The columns of Operators of which the calling operator says more."""
    trace, work = region.trace, region.work
    caller = around(trace, trace.links.operator[work].astype(np.int64))
    from_host = (trace.events.category[work] == Category.COPY) & kernels.match(P.FROM_HOST)
    return {
        "from_host": from_host,
        "in_place": from_host & ~caller.match(P.CONVERTS),
        "places": names.match(P.COPY) & caller.match(P.PLACED),
        "subtracted": names.match(P.MAXIMUM) & caller.match(P.LOG_SUM),
    }


def _flags(names: Names, kernels: Names) -> dict[str, Bools]:
    """The columns of Operators that the names alone tell."""
    return {
        "normalises": names.match(P.NORMALISED) | names.match(P.GROUPED),
        "biased": names.match(P.BIASED),
        "bias_kernel": kernels.match(P.BIAS_KERNEL),
        "few_rows": kernels.match(P.FEW_ROWS),
        "recurrent": names.match(P.RECURRENT),
        "positions": names.match(P.POSITION),
        "casts": names.match(P.COPY),
        "differentiates": names.match(P.DIFFERENTIATES),
        "layer": names.match(P.LAYER_NORM),
        "gathers": names.match(P.GATHER),
        "picks": names.match(P.PICKED_LOSS),
        "averages": names.match(P.AVERAGE),
        "shifts": names.match(P.SHIFT),
        "leaves": kernels.match(P.PARAMETER_GRADIENTS),
    }


def _plain(dtypes: list[Json], concrete: list[Json]) -> tuple[float, float, float]:
    """Whether any argument is complex, for which no code is generated; whether the second is a small whole number or a
    half, as the exponent of a square or a root; and whether it is none at all, as an exponent of its own for each
    element."""
    given = concrete[1] if len(concrete) > 1 else ""
    number = float(given) if isinstance(given, str) and re.fullmatch(r"-?\d(?:\.0|\.5|\.)?", given) else None
    small = number is not None and abs(number) <= 4
    return (
        float(any("complex" in str(dtype) for dtype in dtypes)),
        float(small),
        float(given == "" and len(concrete) > 1),
    )
