"""What the compiler makes of each piece of device work."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.arguments import Json, read_arguments, tensors, whole_numbers
from tracelens.advice.step.before import before
from tracelens.advice.step.called import Names, around
from tracelens.advice.step.region import Region
from tracelens.analysis.kinds import Kind, Origin, kinds, origins
from tracelens.analysis.waits import WITHIN_DEVICE
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Category, Floats, Int64s, Trace
from tracelens.model.masks import mask_of, run_starts
from tracelens.model.names import bearing, named
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


def find_roles(region: Region, names: Names, kernels: Names, dims: Floats, row: Floats) -> Int64s:
    """Role of each piece of work, by the operator first and the kernel's kind where there is none.

    dims: as reduced_dims says. A reduction of unknown dimensions in a single thread block is one to one value."""
    events, operator = region.trace.events, region.trace.links.operator[region.work].astype(np.int64)
    one_value = (dims == 0) | ((dims == 3) & (region.product(A.GRID) == 1))
    flat = kept_last(region, names)
    channels_last = bool(flat.any())
    reduces = np.select([one_value, dims == 1], [Role.FULL, Role.COLUMN], Role.ROW)
    kind = kinds(region.trace, region.work)
    orphan = names.match(P.ORPHAN)
    own = np.isin(kind, P.FUSABLE_KINDS) & (origins(region.trace, region.work) == Origin.EAGER)
    rules = (
        (names.match(P.FOREACH) | around(region.trace, operator).match(P.FOREACH), Role.FOREACH),
        (names.match(P.VECTORS), np.where(names.match(P.DOT), Role.FULL, Role.ROW)),
        (names.match(P.FOREIGN) | names.match(P.LIBRARY) | (orphan & ~own), Role.LIBRARY),
        (np.isin(kind, P.LIBRARY_KINDS), Role.LIBRARY),
        ((events.category[region.work] == Category.COPY) & ~kernels.match(WITHIN_DEVICE), Role.LIBRARY),
        (region.memset, Role.VANISHES),
        (names.match(P.SCATTER), Role.SCATTER),
        (names.match(P.NORM_BACKWARD) & kernels.match(P.INPUT_GRADIENTS), Role.ROW),
        (names.match(P.COLUMN) & region.training, Role.COLUMN),
        (names.match(P.REDUCTION) & (reduces == Role.ROW) & (row > 0) & (row <= C.UNROLLED_ROW), Role.POINTWISE),
        (names.match(P.REDUCTION) & (dims == 4) & channels_last, Role.COLUMN),
        (names.match(P.REDUCTION) | (orphan & (kind == Kind.REDUCTION)), reduces),
        (names.match(P.GROUPED), np.where(kernels.match(P.MOMENTS), Role.FULL, Role.POINTWISE)),
        (names.match(P.FIXED) & (not region.training), Role.POINTWISE),
        (names.match(P.NORMALISATION), Role.ROW),
    )
    role = np.select([mask for mask, _ in rules], [found for _, found in rules], Role.POINTWISE)
    stays = _inside_library(region) | _accumulates(region) | _by_mask(region, names) | _differentiates(region)
    stays = stays | _of_recurrent_layers(region, names)
    role = np.where(stays, Role.LIBRARY, role)
    role = np.where(_into_constant(names), Role.POINTWISE, role)
    role = np.where(_sorts(role, operator), Role.VANISHES, role)
    gone = (role == Role.LIBRARY) & kernels.match(P.CONVERTS_LAYOUT) & flat
    role = np.where(gone, Role.VANISHES, role)
    return np.where(gone & _converts_weight(region, kernels), Role.POINTWISE, role)


def _sorts(role: Int64s, operator: Int64s) -> Bools:
    """What an operator that writes with atomics does before its last kernel, such as sorting its indices: generated
    code has no need of it."""
    scatters = np.flatnonzero((role == Role.SCATTER) & (operator != ABSENT))[::-1]
    _, last = np.unique(operator[scatters], return_index=True)
    return mask_of(np.delete(scatters, last), len(role))


def kept_last(region: Region, names: Names) -> Bools:
    """Work of convolutions whose tensors the compiler keeps channels last: in inference those over planes, unless they
    are few in a large graph. [Inductor's decide_layout_opt]"""
    flat = names.match(P.CONVOLUTION) & _over_planes(region)
    operator = region.trace.links.operator[region.work].astype(np.int64)
    convolutions = len(np.unique(_convolution(region.trace, operator[flat])))
    few = C.GRAPH_NODES * len(region) >= C.NODES_TO_CONVOLUTION * convolutions
    return flat & (not region.training) & (not few)


def _over_planes(region: Region) -> Bools:
    """Whether the convolution around each operator is over planes."""
    operator = region.trace.links.operator[region.work].astype(np.int64)
    asked = _convolution(region.trace, operator)
    return read_arguments(region.trace, asked, (A.SHAPES, A.DTYPES), _rank)[:, 0] == P.PLANE


def _convolution(trace: Trace, operator: Int64s) -> Int64s:
    """The convolution around each operator as it was asked for, else its own row: what it calls sees images in any
    case."""
    asked = nearest(trace.links.parent, operator, bearing(trace, P.ASKED_CONVOLUTION))
    return np.where(asked == ABSENT, operator, asked)


def _rank(shapes: list[Json], _: list[Json]) -> tuple[float]:
    """Dimensions of the first tensor among an operator's arguments; those of images where none is recorded."""
    return (float(next((len(dims) for shape in shapes for dims in tensors(shape)), P.PLANE)),)


def inlined(role: Int64s, elements: Floats, listed: Floats) -> Bools:
    """Work on single values beside work on more: generated code computes it where it is used, unless it copies many."""
    single = (role == Role.POINTWISE) & (elements == 1) & (listed <= C.COPIED_INPUTS)
    return single & bool(((role != Role.LIBRARY) & (role != Role.VANISHES) & ~single).any())


def given_in_place(role: Int64s, operator: Int64s, product: Bools, listed: Floats) -> Bools:
    """A concatenation of many tensors whose matrix products come right before: each writes where its part belongs."""
    products = np.cumsum(product & run_starts(operator))
    fused = (role != Role.LIBRARY) & (role != Role.VANISHES)
    told = before(np.maximum.accumulate(np.where(fused, products, 0)), 0)
    return (role == Role.POINTWISE) & (listed > C.COPIED_INPUTS) & (products - told >= listed)


def _into_constant(names: Names) -> Bools:
    """A scatter into a tensor filled just before, as of a one-hot encoding: the compiler compares indices instead."""
    return names.match(P.ONE_HOT) & before(names.match(P.FILL), False)


def _converts_weight(region: Region, kernels: Names) -> Bools:
    """The second conversion of a convolution's arguments, that of its weight: the compiler makes it too, each time."""
    operator = region.trace.links.operator[region.work]
    converts = kernels.match(P.TO_CHANNELS_LAST)
    return converts & before(converts, False) & (operator == before(operator, ABSENT))


def _inside_library(region: Region) -> Bools:
    """Work of operators that an operator of a library calls, such as the copies of a sort."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    caller = around(trace, operator)
    return caller.match(P.LIBRARY) & ~caller.match(P.COMPOSITE) & ~caller.match(P.FOREIGN)


def _of_recurrent_layers(region: Region, names: Names) -> Bools:
    """All work of recurrent layers, from the state of zeros that they begin with to copies of what they are given: the
    compiler calls the module itself. [Dynamo's allow_rnn]"""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    within = nearest(trace.links.parent, operator, bearing(trace, P.RECURRENT_CALL)) != ABSENT
    filled = names.match(P.FILL)
    run = np.cumsum(~filled)
    begins = np.append(within & ~filled, False)[1:]
    return within | (filled & np.isin(run, run[begins]))


def _by_mask(region: Region, names: Names) -> Bools:
    """Rows picked by a mask, which their operator first turns into indices: generated code does not know how many."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    counts = names.match(P.COUNTED) & (operator != ABSENT)
    return (operator != ABSENT) & np.isin(operator, trace.links.parent[operator[counts]])


def _accumulates(region: Region) -> Bools:
    """Work by which the engine of gradients adds to a parameter's: it calls the operator itself, compiled or not."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    return nearest(trace.links.parent, operator, bearing(trace, P.ACCUMULATES)) != ABSENT


def _differentiates(region: Region) -> Bools:
    """Work of a node of the graph of gradients that runs the engine itself, as one written by the user which computes
    its layers anew: the compiler cannot look into it. Into checkpoints it can."""
    trace, operator = region.trace, region.trace.links.operator[region.work].astype(np.int64)
    rows = np.arange(len(trace.events))
    node, inner = named(trace, rows, P.OWN_NODE), np.flatnonzero(named(trace, rows, P.NODE))
    outer = nearest(trace.links.parent, trace.links.parent[inner], node)
    runs = mask_of(outer[outer != ABSENT], len(rows))
    return nearest(trace.links.parent, operator, runs) != ABSENT


def reduced_dims(shapes: list[Json], concrete: list[Json]) -> tuple[float, float]:
    """0 for a reduction to one value, 1 over leading dimensions only, 2 over the last, 3 for unknown, 4 over planes;
    for dimensions in the second argument, and for dimensions in the third."""
    of = tensors(shapes[0]) if shapes else []
    if not of:
        return (3.0, 3.0)
    # torch.max of two tensors has no dimensions either, and reduces nothing.
    whole = 0.0 if concrete and not (len(shapes) > 1 and tensors(shapes[1])) else 2.0
    return _over(len(of[0]), concrete[1:2], whole), _over(len(of[0]), concrete[2:3], whole)


def _over(rank: int, dims: list[Json], whole: float) -> float:
    """What a reduction over the dimensions in a text leaves, as reduced_dims says; `whole` where none are given."""
    given = [text for text in dims if isinstance(text, str) and text.strip("[]")]
    if not given:
        return whole
    over = {dim % rank for dim in whole_numbers(given[0])}
    if len(over) == rank:
        return 0.0
    return 1.0 if rank - 1 not in over else 4.0 if over == {2, 3} and rank == P.PLANE else 2.0
