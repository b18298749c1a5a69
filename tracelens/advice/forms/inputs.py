"""The tensors that a replay copies into its static inputs, as far as a trace shows them."""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, tensors, width
from tracelens.advice.estimate import Estimate
from tracelens.advice.forms.further import doubtful_input, further_inputs
from tracelens.advice.forms.reads import argument_of, arguments_of, filled, name_of, outermost, taken_apart
from tracelens.advice.patterns import POINTWISE_PAIR, SPARSE
from tracelens.advice.step.dependencies import main_stream
from tracelens.advice.step.region import Region
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Int64s
from tracelens.model.names import named
from tracelens.model.once import once

OF_TWO: Final = re.compile(r"^(?:mm|matmul|mv)$")
"""Products whose arguments' order does not tell which is the input; the table of parameters is rather the larger."""
BATCHED: Final = re.compile(r"bmm|matmul|attention")
"""Products of which every argument is an input if none is a matrix of parameters."""
TABLE_FIRST: Final = re.compile(r"embedding|^index|gather|take")
"""Operators whose first argument is a table of parameters; the input follows it."""
UPDATES: Final = re.compile(r"^_foreach")
"""Operators on lists of what is updated in place, hardly inputs one by one."""

COPY_SPREAD: Final = (0.5, 2.0)
"""Range of the time of those copies around its estimate, as which tensors are inputs is a guess. [judgement]"""


def input_copies(region: Region, bandwidth: float) -> Estimate:
    """Device time to copy the step's inputs, in ns: one copy for each operator that reads any, and for each of a list.

    A trace does not say which tensors are inputs; those of the step's first operator stand in for them, and those of
    the first on each stream that waited for nothing. There may be as much again, or what is doubtful may be none,
    hence the range's ends."""
    read = _input_bytes(region)
    copy = 2 * _fitting(region, read) / bandwidth
    whole = C.INPUT_COPY * count_inputs(region) + copy
    least = max(copy - 2 * doubtful_input(region) / bandwidth, 0.0)
    return Estimate(whole, least, 2 * whole + _untold(region)).told("input_copies_ns", input_copies_ns=whole)


def count_inputs(region: Region) -> int:
    """How many copies that are, at least one."""
    return max(len(_input_bytes(region)), 1)


def tree_copies(region: Region, bandwidth: float) -> Estimate:
    """The same under reduce-overhead, which copies with kernels of its own, and for each graph anew: one begins after
    each wait, whose first operator may read an input again."""
    rate = C.TREE_COPY_RATE * bandwidth
    again = [size for read in _read_again(region) if 2 * (size := _fitting(region, read)) / rate > C.TREE_COPY]
    copy = max(2 * _fitting(region, _input_bytes(region)) / rate, C.TREE_COPY) + 2 * sum(again) / rate
    low, high = (factor * copy for factor in COPY_SPREAD)
    return Estimate(copy, low, high + _untold(region)).told("input_copies_ns", input_copies_ns=copy)


def _fitting(region: Region, read: list[int]) -> float:
    """Bytes of inputs of these sizes, no more than half of the device's memory: a replay holds each of them twice. A
    tensor that a view expanded takes less than its shape says."""
    given = region.device.properties.get("totalGlobalMem")
    memory = given if isinstance(given, int) and given > 0 else C.LARGEST_MEMORY
    return float(min(sum(read), memory // 2))


def _untold(region: Region) -> float:
    """What copying inputs may take on top where their sizes are not recorded, in ns: as long as the step's first
    kernel, which reads inputs and mostly writes about as much."""
    told = any(filled(arguments_of(region, row)[0]) for row in _readers(region))
    return 0.0 if told or not len(region) else float(region.duration[0])


@once
def _input_bytes(region: Region) -> list[int]:
    """Bytes of each of the inputs that heads of the step read; heads that read alike mostly read the same."""
    if A.SHAPES not in region.trace.args:
        return []
    alike: dict[str, list[int]] = {}
    for row in _readers(region):
        alike.setdefault(str(filled(arguments_of(region, row)[0])), []).append(row)
    read = [row for rows in alike.values() for row in rows[: _apart(region, rows)]]
    # A sparse matrix's shape does not tell its size; the dense one comes last.
    multiply = region.trace.links.operator[region.work[named(region.trace, region.work, SPARSE)]]
    sparse = {outermost(region, row) for row in np.unique(multiply[multiply != ABSENT]).tolist()}
    return [size for row in read for size in _held(region, row, sparse=row in sparse)] + further_inputs(region)


def _apart(region: Region, rows: list[int]) -> int:
    """How many tensors operators that read alike read: one, or one for each call of an operator of nothing but that
    tensor, as the same call on the same tensor would give the same result."""
    alone = [row for row in rows if len(filled(arguments_of(region, row)[0])) == 1 and not taken_apart(region, row)]
    calls = Counter(f"{name_of(region, row)}{argument_of(region, A.CONCRETE, row)}" for row in alone)
    return max(calls.values(), default=1)


def _read_again(region: Region) -> list[list[int]]:
    """Bytes that the first operator after each wait reads, where it reads a tensor shaped like an input."""
    if A.SHAPES not in region.trace.args:
        return []
    inputs = [dims for row in _readers(region) for dims in filled(arguments_of(region, row)[0])]
    first = region.trace.links.operator[region.work[region.waits[region.waits < len(region)]]]
    rows = [outermost(region, row) for row in first.tolist() if row != ABSENT]
    alike = [row for row in rows if any(dims in inputs for dims in filled(arguments_of(region, row)[0]))]
    return [_held(region, row) for row in alike]


def _readers(region: Region) -> list[int]:
    """Rows of the operators, as user code called them, that read inputs first."""
    launched = region.trace.links.operator[region.work] != ABSENT
    heads = [*np.flatnonzero(launched)[:1].tolist(), *(at for at in _heads(region) if launched[at])]
    return list(dict.fromkeys(_reader(region, at) for at in heads))


def _reader(region: Region, at: int) -> int:
    """Row of the operator, as user code called it, at the head of a stream. If that made something of nothing, as an
    index sequence, the next one, where it reads more than what was made; not a pair, which may be of that alone."""
    behind = region.work[at:][region.stream[at:] == region.stream[at]][:2]
    rows = [outermost(region, row) for row in region.trace.links.operator[behind].tolist() if row != ABSENT]
    head, following = rows[0], rows[-1]
    given, read = (arguments_of(region, row)[0] for row in (head, following))
    made = bool(given) and not filled(given) and not POINTWISE_PAIR.match(name_of(region, following))
    return following if made and len(filled(read)) > 1 else head


def _held(region: Region, row: int, *, sparse: bool = False) -> list[int]:
    return _activations(name_of(region, row), taken_apart(region, row), *arguments_of(region, row), sparse=sparse)


def _batched(dims: list[int]) -> bool:
    """Whether it is no matrix but several, as parameters of a product seldom are."""
    return len(dims) > 2


def _heads(region: Region) -> list[int]:
    """Position of the first work on each stream but the main one that did not wait for work on that."""
    work, main = region.work, main_stream(region)
    streams, first = np.unique(region.stream, return_index=True)
    others = first[streams != main].tolist()
    return [at for at in others if _unheld(region, at, work[:at][region.stream[:at] == main])]


def _unheld(region: Region, at: int, before: Int64s) -> bool:
    """Whether some of the rows of work before, or all that there is, ran on while this began."""
    events = region.trace.events
    return not len(before) or bool(events.end[before].max() > events.start[region.work[at]])


def _activations(
    name: str, whole: dict[str, int], shapes: list[Json], dtypes: list[Json], *, sparse: bool
) -> list[int]:
    """Bytes of each tensor that stands in for the step's inputs; of a part the whole, once for all parts alike."""
    held = [[max(whole.get(str(dims), 0), prod(dims)) for dims in tensors(shape)] for shape in shapes]
    sizes = [[size for one in elements if (size := one * width(dtypes, at))] for at, elements in enumerate(held)]
    filled = [size for size in sizes if size]
    if sparse:
        return filled[-1] if filled else []
    given = [dims for shape in shapes for dims in tensors(shape)]
    if POINTWISE_PAIR.match(name) or (BATCHED.search(name) and all(map(_batched, given))):
        own = [str(shape) if str(shape) in whole else at for at, shape in enumerate(shapes)]
        return [sum(map(sum, dict(zip(own, sizes, strict=True)).values()))]
    if OF_TWO.match(name):
        batched = [size for size, shape in zip(sizes, shapes, strict=True) if any(map(_batched, tensors(shape)))]
        products = batched or filled
        return min(products, key=sum) if products else []
    at = 1 if TABLE_FIRST.search(name) or name.startswith("addmm") else 0
    read = sizes[at] if at < len(sizes) else []
    # A trace does not tell each tensor of a list; what views took them from holds them.
    holds = max(whole.values(), default=0) * width(dtypes, at)
    return [max(sum(read), holds)] if UPDATES.match(name) else read
