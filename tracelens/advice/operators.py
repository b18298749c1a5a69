"""What the compiler can do with the operators of a step, and how big their tensors are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.arguments import Json, read_arguments, tensors
from tracelens.advice.before import before
from tracelens.advice.region import Region
from tracelens.advice.sizes import Sizes, read_sizes
from tracelens.analysis.kinds import Kind, Origin, kinds, origins
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Category, Floats, Int64s, Trace
from tracelens.model.names import alike, named
from tracelens.model.nesting import nearest


class Role(IntEnum):
    """What the compiler does with a kernel of eager PyTorch."""

    LIBRARY = 0
    """Stays as it is: GEMM, convolution, attention, sort, FFT, custom kernels, copies between host and device."""
    POINTWISE = 1
    ROW = 2
    """A reduction or normalisation along the last dimension: fuses with its producers and consumers."""
    FULL = 3
    """A reduction to one value: in two stages, and its consumers start a new kernel."""
    COLUMN = 4
    """A reduction over leading dimensions: a kernel of its own, with its producers."""
    SCATTER = 5
    """Writes with atomics: zeroes first, takes its producers along, and its consumers start a new kernel."""
    FOREACH = 6
    """One of a run of optimizer operators over lists of tensors: the run becomes few kernels."""
    VANISHES = 7
    """Layout conversions around convolutions, memsets of eager reductions, work on single values."""


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
    listed: Floats
    """Tensors in the longest list argument."""
    row: Floats
    """Elements of the last dimension of the largest tensor."""
    shrinks: Bools
    """A reduction: its result is smaller than the tensor it reads."""
    normalises: Bools
    """Two reductions in one operator, the second of what the first gave: a mean and a variance, a maximum and a sum."""
    arithmetic: Floats
    """ns per element that generated code spends on the operator's function."""
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
    recurrent: Bools
    """A recurrent layer."""
    from_host: Bools
    """A copy from the host."""
    in_place: Bools
    """... into a tensor that was there before."""
    casts: Bools
    """A copy to another type or place."""
    updates: Bools
    """Writes into a tensor of its own size, which it reads beside another one."""
    gathers: Bools
    """Reads rows of a table."""
    shifts: Bools
    """Reads its argument at other places than it writes."""
    standalone: Bools
    """An index sequence or a weight's conversion: materialised where a library reads it, so never counted as fused."""


@dataclass(frozen=True, slots=True, eq=False)
class _Names:
    """Texts of n rows, each distinct one asked once, whatever the number at its end."""

    texts: list[str]
    index: Int64s

    def match(self, pattern: re.Pattern[str]) -> Bools:
        """Mask of the rows whose text the pattern is found in."""
        return np.array([pattern.search(text) is not None for text in self.texts], dtype=np.bool_)[self.index]


def describe(region: Region) -> Operators:
    """What launched each piece of work, and what the compiler makes of it."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    plain = read_arguments(trace, operator, (A.DTYPES, A.CONCRETE), _plain)
    names, kernels = _operator_names(trace, operator), _kernel_names(region)
    sizes = read_sizes(trace, operator, names.match(P.GATHER))
    given = read_arguments(trace, operator, (A.SHAPES, A.CONCRETE), _reduces)
    reduces = np.where(names.match(P.ORDERED), given[:, 1], given[:, 0])
    cheap = (names.match(P.POWER) & (plain[:, 1] > 0)) | (names.match(P.DIVISION) & ~_of_two(sizes))
    roles = np.where(
        (plain[:, 0] > 0) & ~names.match(P.PARTS), Role.LIBRARY, _roles(region, names, kernels, reduces, sizes.row)
    )
    from_host = (trace.events.category[region.work] == Category.COPY) & kernels.match(P.FROM_HOST)
    functions, product = [names.match(P.SOFTWARE), names.match(P.HARDWARE) & ~cheap], names.match(P.MATRIX_PRODUCT)
    gone = _inlined(roles, sizes.elements) | _given_in_place(roles, operator, product, sizes.listed)
    return Operators(
        role=np.where(gone, Role.VANISHES, roles),
        name=operator,
        arithmetic=np.select(functions, [C.SOFTWARE_FUNCTION, C.TRANSCENDENTAL], C.PLAIN_OPERATOR)
        + C.WINDOW_READ * _windows(trace, operator, names),
        product=product,
        single_precision=product & (sizes.bytes == 4 * sizes.elements),
        from_host=from_host,
        in_place=from_host & ~_around(trace, operator).match(P.CONVERTS),
        updates=(sizes.inputs > 1)
        & (operator != ABSENT)
        & named(trace, operator, P.IN_PLACE)
        & (roles == Role.POINTWISE)
        & ~names.match(P.COPY),
        **_flags(names, kernels),
        **_columns(names, sizes),
    )


def _windows(trace: Trace, operator: Int64s, names: _Names) -> Floats:
    """How often each operator reads an element of its tensor, for all the windows that it is in; 0 of one without."""
    read = read_arguments(trace, operator, (A.SHAPES, A.CONCRETE), _reads)[:, 0]
    return np.where(names.match(P.WINDOW), read, 0.0)


def _reads(shapes: list[Json], concrete: list[Json]) -> tuple[float]:
    """Elements of the window in the second argument over those of the step in the third, which is else the window."""
    dims = len(tensors(shapes[0])[0]) - 2 if shapes and tensors(shapes[0]) else 0
    window, step = (_numbers(concrete, at, dims) for at in (1, 2))
    return (prod(window) / max(prod(step or window), 1),)


def _numbers(concrete: list[Json], at: int, dims: int) -> list[int]:
    """Those in a text argument; a single one stands for all dimensions."""
    found = [int(text) for text in re.findall(r"\d+", str(concrete[at]))] if at < len(concrete) else []
    return found * dims if len(found) == 1 else found


def _of_two(sizes: Sizes[Floats]) -> Bools:
    """Whether an operator takes a second tensor beside the largest."""
    return (sizes.inputs > 1) | (sizes.matched > 0)


def _columns(names: _Names, sizes: Sizes[Floats]) -> dict[str, Any]:
    """The columns of Operators that the sizes of arguments tell."""
    inputs = np.where(names.match(P.COPY), np.minimum(sizes.inputs, 1), sizes.inputs)
    return {"sized": sizes.elements > 0} | sizes._replace(inputs=inputs)._asdict()


def _flags(names: _Names, kernels: _Names) -> dict[str, Bools]:
    """The columns of Operators that the names alone tell."""
    return {
        "shrinks": names.match(P.REDUCTION) | names.match(P.VECTORS),
        "normalises": names.match(P.NORMALISED),
        "biased": names.match(P.BIASED),
        "bias_kernel": kernels.match(P.BIAS_KERNEL),
        "few_rows": kernels.match(P.FEW_ROWS),
        "recurrent": names.match(P.RECURRENT),
        "casts": names.match(P.COPY),
        "gathers": names.match(P.GATHER),
        "shifts": names.match(P.SHIFT),
        "standalone": names.match(P.SEQUENCE) | kernels.match(P.TO_CHANNELS_LAST),
    }


def _operator_names(trace: Trace, operator: Int64s) -> _Names:
    """Bare aten names ("add" of "aten::add_"); "" for device work without an operator, others in full."""
    name = alike(trace)[trace.events.name[operator]]
    distinct, index = np.unique(np.where(operator == ABSENT, ABSENT, name), return_inverse=True)
    return _Names([_bare(trace.names[int(name)]) if name != ABSENT else "" for name in distinct], index)


def _kernel_names(region: Region) -> _Names:
    name = alike(region.trace)[region.trace.events.name[region.work]]
    distinct, index = np.unique(name, return_inverse=True)
    return _Names([region.trace.names[int(name)] for name in distinct], index)


def _bare(name: str) -> str:
    return name.removeprefix("aten::").rstrip("_") if name.startswith("aten::") else f"custom {name}"


def _roles(region: Region, names: _Names, kernels: _Names, dims: Floats, row: Floats) -> Int64s:
    """Role of each piece of work, by the operator first and the kernel's kind where there is none.

    dims: as _reduces says. A reduction of unknown dimensions in a single thread block is one to one value."""
    events, operator = region.trace.events, region.trace.links.operator[region.work].astype(np.int64)
    one_value = (dims == 0) | ((dims == 3) & (region.product(A.GRID) == 1))
    reduces = np.select([one_value, dims == 1], [Role.FULL, Role.COLUMN], Role.ROW)
    kind = kinds(region.trace, region.work)
    orphan = names.match(P.ORPHAN)
    own = np.isin(kind, P.FUSABLE_KINDS) & (origins(region.trace, region.work) == Origin.EAGER)
    rules = (
        (names.match(P.FOREACH) | _around(region.trace, operator).match(P.FOREACH), Role.FOREACH),
        (names.match(P.VECTORS), np.where(names.match(P.DOT), Role.FULL, Role.ROW)),
        (names.match(P.FOREIGN) | names.match(P.LIBRARY) | (orphan & ~own), Role.LIBRARY),
        (np.isin(kind, P.LIBRARY_KINDS), Role.LIBRARY),
        ((events.category[region.work] == Category.COPY) & ~kernels.match(P.BETWEEN_DEVICES), Role.LIBRARY),
        (region.memset, Role.VANISHES),
        (names.match(P.SCATTER), Role.SCATTER),
        (names.match(P.COLUMN) & region.training, Role.COLUMN),
        (names.match(P.REDUCTION) & (reduces == Role.ROW) & (row > 0) & (row <= C.UNROLLED_ROW), Role.POINTWISE),
        (names.match(P.REDUCTION) | (orphan & (kind == Kind.REDUCTION)), reduces),
        (names.match(P.GROUPED), np.where(kernels.match(P.MOMENTS), Role.FULL, Role.POINTWISE)),
        (names.match(P.FIXED) & (not region.training), Role.POINTWISE),
        (names.match(P.NORMALISATION), Role.ROW),
    )
    role = np.select([mask for mask, _ in rules], [found for _, found in rules], Role.POINTWISE)
    stays = _inside_library(region) | _accumulates(region) | _by_mask(region, names) | _differentiates(region)
    role = np.where(stays, Role.LIBRARY, role)
    role = np.where(_into_constant(names), Role.POINTWISE, role)
    ranks = read_arguments(region.trace, _convolution(region.trace, operator), (A.SHAPES, A.DTYPES), _rank)[:, 0]
    flat = names.match(P.CONVOLUTION) & (ranks == P.PLANE)
    gone = (role == Role.LIBRARY) & kernels.match(P.CONVERTS_LAYOUT) & flat & (not region.training)
    role = np.where(gone, Role.VANISHES, role)
    return np.where(gone & _converts_weight(region, kernels), Role.POINTWISE, role)


def _convolution(trace: Trace, operator: Int64s) -> Int64s:
    """The convolution around each operator as it was asked for, else its own row: what it calls sees images in any
    case."""
    asked = nearest(trace.links.parent, operator, named(trace, np.arange(len(trace.events)), P.ASKED_CONVOLUTION))
    return np.where(asked == ABSENT, operator, asked)


def _rank(shapes: list[Json], _: list[Json]) -> tuple[float]:
    """Dimensions of the first tensor among an operator's arguments; those of images where none is recorded."""
    return (float(next((len(dims) for shape in shapes for dims in tensors(shape)), P.PLANE)),)


def _inlined(role: Int64s, elements: Floats) -> Bools:
    """Work on single values beside work on more: generated code computes it where it is used."""
    single = (role == Role.POINTWISE) & (elements == 1)
    return single & bool(((role != Role.LIBRARY) & (role != Role.VANISHES) & ~single).any())


def _given_in_place(role: Int64s, operator: Int64s, product: Bools, listed: Floats) -> Bools:
    """A concatenation of many tensors whose matrix products come right before: each writes where its part belongs."""
    products = np.cumsum(product & np.append(True, np.diff(operator) != 0)[: len(operator)])
    fused = (role != Role.LIBRARY) & (role != Role.VANISHES)
    told = before(np.maximum.accumulate(np.where(fused, products, 0)), 0)
    return (role == Role.POINTWISE) & (listed > C.COPIED_INPUTS) & (products - told >= listed)


def _into_constant(names: _Names) -> Bools:
    """A scatter into a tensor filled just before, as of a one-hot encoding: the compiler compares indices instead."""
    return names.match(P.ONE_HOT) & before(names.match(P.FILL), False)


def _converts_weight(region: Region, kernels: _Names) -> Bools:
    """The second conversion of a convolution's arguments, that of its weight: the compiler makes it too, each time."""
    operator = region.trace.links.operator[region.work]
    converts = kernels.match(P.TO_CHANNELS_LAST)
    return converts & before(converts, False) & (operator == before(operator, ABSENT))


def _inside_library(region: Region) -> Bools:
    """Work of operators that an operator of a library calls, such as the copies of a sort."""
    around = _around(region.trace, region.trace.links.operator[region.work].astype(np.int64))
    return around.match(P.LIBRARY) & ~around.match(P.COMPOSITE) & ~around.match(P.FOREIGN)


def _by_mask(region: Region, names: _Names) -> Bools:
    """Rows picked by a mask, which their operator first turns into indices: generated code does not know how many."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    counts = names.match(P.COUNTED) & (operator != ABSENT)
    return (operator != ABSENT) & np.isin(operator, trace.links.parent[operator[counts]])


def _around(trace: Trace, operator: Int64s) -> _Names:
    """What called each operator."""
    return _operator_names(trace, np.where(operator == ABSENT, ABSENT, trace.links.parent[operator]).astype(np.int64))


def _accumulates(region: Region) -> Bools:
    """Work by which the engine of gradients adds to a parameter's: it calls the operator itself, compiled or not."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    return nearest(trace.links.parent, operator, named(trace, np.arange(len(trace.events)), P.ACCUMULATES)) != ABSENT


def _differentiates(region: Region) -> Bools:
    """Work of a node of the graph of gradients that runs the engine itself, as one written by the user which computes
    its layers anew: the compiler cannot look into it. Into checkpoints it can."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    rows = np.arange(len(trace.events))
    node, inner = named(trace, rows, P.OWN_NODE), np.flatnonzero(named(trace, rows, P.NODE))
    outer = nearest(trace.links.parent, trace.links.parent[inner], node)
    runs = np.zeros(len(rows), dtype=np.bool_)
    runs[outer[outer != ABSENT]] = True
    return nearest(trace.links.parent, operator, runs) != ABSENT


def _reduces(shapes: list[Json], concrete: list[Json]) -> tuple[float, float]:
    """0 for a reduction to one value, 1 over leading dimensions only, 2 over the last, 3 for unknown; for dimensions
    in the second argument, and for dimensions in the third."""
    of = tensors(shapes[0]) if shapes else []
    if not of:
        return (3.0, 3.0)
    # torch.max of two tensors has no dimensions either, and reduces nothing.
    whole = 0.0 if concrete and not (len(shapes) > 1 and tensors(shapes[1])) else 2.0
    return _over(len(of[0]), concrete[1:2], whole), _over(len(of[0]), concrete[2:3], whole)


def _over(rank: int, dims: list[Json], whole: float) -> float:
    """What a reduction over the dimensions in a text leaves, as _reduces says; `whole` where none are given."""
    given = [text for text in dims if isinstance(text, str) and text.strip("[]")]
    if not given:
        return whole
    over = {int(dim) % rank for dim in re.findall(r"-?\d+", given[0])}
    return 0.0 if len(over) == rank else 1.0 if rank - 1 not in over else 2.0


def _plain(dtypes: list[Json], concrete: list[Json]) -> tuple[float, float]:
    """Whether any argument is complex, for which no code is generated; and whether the second is a small whole number
    or a half, as the exponent of a square or a root."""
    given = concrete[1] if len(concrete) > 1 else ""
    number = float(given) if isinstance(given, str) and re.fullmatch(r"-?\d(?:\.0|\.5|\.)?", given) else None
    return float(any("complex" in str(dtype) for dtype in dtypes)), float(number is not None and abs(number) <= 4)
