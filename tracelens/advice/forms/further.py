"""Inputs that others than the step's first operator read, by what operators before could have made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from math import prod
from typing import Final

import numpy as np

from tracelens.advice.arguments import Json, parsed, tensors, whole_numbers, width
from tracelens.advice.forms.reads import arguments_of, filled, name_of, outermost, taken_apart, tensors_apart
from tracelens.advice.patterns import LIBRARY, POINTWISE_PAIR
from tracelens.advice.step.region import Region
from tracelens.model import arguments as A
from tracelens.model.distinct import distinct
from tracelens.model.events import ABSENT, Category, Int64s, Trace
from tracelens.model.names import bearing, named
from tracelens.model.once import once

SHAPED: Final = re.compile(
    r"^(?:to|_to_copy|clone|contiguous|cumsum|exp|log|log1p|neg|abs|sqrt|rsqrt|reciprocal|square|pow|sin|cos|tanh|sigmoid"
    r"|softplus|relu|silu|gelu|clamp|clamp_min|clamp_max|masked_fill|rsub|softmax|log_softmax"
    r"|gt|ge|lt|le|eq|ne|logical_not|floor|ceil|round|log2|log10|exp2|expm1|erf|atan|asin|acos|sign|isnan)_?$"
)
"""Operators whose result is as large as their argument."""
COPIES: Final = re.compile(r"^(?:to|_to_copy|clone|contiguous)$")
"""Those of them that copy, also what views expanded."""
POWER_OF_ONE: Final = re.compile(r"^(?:mul|div|neg|abs|sqrt|rsqrt|reciprocal)$")
"""Operators that make powers of the one tensor that they read, but for a factor."""
LOSS: Final = re.compile(r"^aten::(?:mean|sum)$")
"""Operators that make a loss one value."""
PARAMETER: Final = re.compile(r"^torch::autograd::AccumulateGrad$")
"""What takes the gradient of a parameter, of its shape."""
IN_PLACE: Final = re.compile(r"[^_]_$")
"""Operators that write over their first argument."""
LIKE: Final = re.compile(r"_like$")
"""Operators that read but the shape of a tensor, and make a new one."""
COMPARED: Final = re.compile(
    r"^aten::(?:mse_loss|(?:smooth_)?l1_loss|huber_loss|soft_margin_loss|binary_cross_entropy(?:_with_logits)?)$"
)
"""Losses, element by element, of a result and of what it should have been."""
MOVED: Final = re.compile(r"roll|flip|pad|cat$|stack|gather|scatter|index|take|embedding|unfold|norm$")
"""Operators that read a tensor elsewhere than where they write, as stencils of one tensor do, and layers."""
CONVERTS: Final = ("to", "_to_copy")
"""Operators whose result may be of another type."""
UNLIKE: Final = re.compile(r"^(?:sub|div|maximum|minimum)_?$")
"""Operators that nobody gives one tensor twice."""
COMPARISON: Final = re.compile(r"^(?:gt|ge|lt|le|eq|ne|logical_not|isnan)$")
"""Operators whose result is true or false."""
FLOATING: Final = re.compile(r"float|double|half|complex", re.IGNORECASE)
"""Types of elements that a number does not change."""
FORMULA: Final = (8, 0.3, 7, 3)
"""Operators, the share or number of them that combine whole tensors, and inputs of a formula: of ten such steps
whose inputs are known two read two, three read three, and five more. [measured steps]"""
FIRST_WORK: Final = 32
"""Pieces of work at the step's start among whose operators more inputs are looked for."""


@dataclass(frozen=True)
class _Read:
    """What an operator reads: elements of each argument, of all broadcast together, and of what views took apart."""

    name: str
    shapes: list[Json]
    dtypes: list[Json]
    parts: dict[str, int]
    """Elements of what views took parts of, by the shape of the part."""
    counts: dict[str, int]
    """How many tensors they took parts of, by that shape, where they took several parts of each."""

    @property
    def sizes(self) -> list[int]:
        return [max(map(prod, tensors(shape)), default=0) for shape in self.shapes]

    @property
    def values(self) -> Counter[tuple[int, str]]:
        """Its arguments, by elements and their type."""
        return Counter((size, str(self.dtypes[at])) for at, size in enumerate(self.sizes) if size and self.dtypes[at:])

    @property
    def result(self) -> tuple[int, str]:
        """Elements of its result, and their type; "" where its arguments do not tell that."""
        types = {dtype for _, dtype in self.values}
        same = next(iter(types)) if len(types) == 1 and all(map(FLOATING.search, types)) else ""
        return self.whole, "bool" if COMPARISON.match(self.name) else "" if self.name in CONVERTS else same

    @property
    def whole(self) -> int:
        """Elements of what tensors of these dimensions give together."""
        return prod(map(max, zip_longest(*(dims[::-1] for dims in filled(self.shapes)), fillvalue=1)))

    @property
    def paired(self) -> set[int]:
        """Elements of the tensors of which it reads more than one."""
        return {size for size, count in Counter(self.sizes).items() if size > 1 and count > 1}

    @property
    def apart(self) -> dict[str, int]:
        """Those of the parts that are smaller than what they were taken of."""
        return {part: size for part, size in self.parts.items() if size > prod(whole_numbers(part))}

    @property
    def taken(self) -> dict[int, int]:
        """How many tensors views took such parts of, by their elements."""
        return {size: self.counts.get(part, 1) for part, size in self.apart.items()}


@dataclass
class _Seen:
    """Elements of the tensors that operators before read or made, and the shapes of parts of those."""

    states: set[int]
    """Elements of the tensors that the step updates in place: parameters and the like, which are no inputs."""
    made: set[int] = field(default_factory=set[int])
    parts: set[str] = field(default_factory=set[str])
    created: bool = False
    values: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])
    """How many tensors operators before read or made, by elements and their type."""
    powers: int = 0
    """Elements of the one tensor of which operators before made nothing but powers; 0 where they made more."""

    def news(self, read: _Read) -> Iterator[int]:
        """Bytes of the tensors among what an operator reads that none before could have made."""
        if self.made:
            apart = (size for size, count in read.taken.items() for _ in range(count) if size > max(self.made))
            yield from (size * width(read.dtypes, 0) for size in apart)
        sizes, whole = read.sizes, read.whole
        if whole not in sizes or self.created or COPIES.match(read.name):
            return
        at = sizes.index(whole)
        unmade = bool(self.made) and whole not in self.made and str(read.shapes[at]) not in self.parts
        if unmade or self.pairs_powers(read) or self.short(read):
            yield whole * width(read.dtypes, at)

    def pairs_powers(self, read: _Read) -> bool:
        """Whether an operator combines two tensors where there were but powers of one before."""
        powers = self.powers == read.whole and read.sizes.count(read.whole) > 1 and read.whole not in self.states
        return powers and bool(POINTWISE_PAIR.match(read.name))

    def short(self, read: _Read) -> bool:
        """Whether an operator combines two tensors of a kind of which there was only one before."""
        twice = [kind for kind, count in read.values.items() if count > 1]
        known = [self.values[kind] + self.values[kind[0], ""] for kind in twice if kind[0] == read.whole]
        settled = not read.parts and not self.parts and read.whole not in self.states
        return known == [1] and settled and bool(UNLIKE.match(read.name))

    def add(self, read: _Read) -> None:
        """Take an operator's arguments and its result for made."""
        one = len(filled(read.shapes)) == 1 and not read.parts and POWER_OF_ONE.match(read.name)
        self.powers = read.whole if one and (self.powers == read.whole or not self.made) else 0
        self.values = (self.values | read.values) + Counter([read.result])
        self.made |= {read.whole, *read.sizes, *read.taken}
        self.created = False


def further_inputs(region: Region) -> list[int]:
    """Bytes of each input that others than the step's first operators read: beside another tensor, or to compare.

    What a model is fitted to was found among them if one is as large; a table of constants, beside which a parameter is
    read, is smaller."""
    reads = _first_reads(region)
    parts = {part for read in reads for part in read.apart}
    found, fitted = [*_beside(reads), *_of_formula(reads), *_compared(region, parts)], _fitted(region, reads)
    return found if max(found, default=0) >= sum(fitted) else [*found, *fitted]


def doubtful_input(region: Region) -> int:
    """Bytes of those that a formula may do without, as some read but one; 0 where there are none."""
    return sum(_of_formula(_first_reads(region)))


def _beside(reads: list[_Read]) -> Iterator[int]:
    """Bytes of each tensor that one of the step's first operators reads and that none before could have made.

    They all give tensors as large as what they read, so one of another size is an input, and so is one taken apart that
    is larger. A part of a tensor was made with it, and what reads no tensor, such as an index sequence, makes one for
    the next operator. Two powers of one tensor give a third together, or its multiple: nobody writes that as a pair, so
    one of the two is of another."""
    seen = _Seen({read.sizes[0] for read in reads if IN_PLACE.search(read.name) and read.sizes})
    for read in reads:
        seen.parts |= set(read.apart)
        if LIKE.search(read.name) or (read.shapes and not any(read.sizes)):
            seen.made, seen.created = seen.made | set(read.taken), True
            continue
        if not (POINTWISE_PAIR.match(read.name) or SHAPED.match(read.name)) or not any(read.sizes):
            return
        yield from seen.news(read)
        seen.add(read)


def _of_formula(reads: list[_Read]) -> list[int]:
    """Bytes of the inputs of a formula that its head and those found beside it are short of.

    What combines whole tensors so often, and neither parts nor neighbours of one, is seldom a formula of only one. Its
    tensors may be parts of what its head reads. One of few operators, over and over, may be of two."""
    least, share, enough, inputs = FORMULA
    paired = Counter(size for read in reads for size in read.paired)
    size, pairs = max(paired.items(), key=lambda of: of[1], default=(0, 0))
    if len(reads) < least or pairs < min(share * len(reads), enough):
        return []
    if size > reads[0].whole or not _whole_tensors(reads, size):
        return []
    head = reads[0].sizes.count(size) if POINTWISE_PAIR.match(reads[0].name) else 1
    one = size * next(width(read.dtypes, read.sizes.index(size)) for read in reads if size in read.paired)
    return [one] * max(inputs - _repeats(reads, least) - max(head, 1) - list(_beside(reads)).count(one), 0)


def _repeats(reads: list[_Read], least: int) -> bool:
    """Whether operators do nothing but what fewer than so many do, again and again."""
    calls = [(read.name, read.sizes) for read in reads]
    return any(calls[period:] == calls[:-period] for period in range(1, least))


def _whole_tensors(reads: list[_Read], size: int) -> bool:
    """Whether operators read tensors of this size whole, where they write, and update none; one value is no tensor."""
    names = [read.name for read in reads if any(read.sizes) and read.whole > 1]
    moving = any(pattern.search(name) for name in names for pattern in (MOVED, LIBRARY, IN_PLACE))
    return not moving and not reads[0].taken and all(of >= 2 * size for read in reads for of in read.taken)


@once
def _first_reads(region: Region) -> list[_Read]:
    """What the operators read, as user code called them, that launched the step's first work."""
    operators = region.trace.links.operator[region.work[:FIRST_WORK]].tolist()
    rows = dict.fromkeys(outermost(region, row) for row in operators if row != ABSENT)
    return [
        _Read(name_of(region, row), *arguments_of(region, row), taken_apart(region, row), tensors_apart(region, row))
        for row in rows
    ]


def _compared(region: Region, parts: set[str]) -> list[int]:
    """Bytes of what losses compare results with, once for each shape: mostly a part of the batch.

    parts: shapes of the parts of tensors that count whole; a target of such a shape is one of them."""
    given = [arguments_of(region, row) for row in _losses(region).tolist()]
    targets = {str(shapes[1]): (shapes[1], width(dtypes, 1)) for shapes, dtypes in given if shapes[1:]}
    return [of * sum(map(prod, tensors(shape))) for text, (shape, of) in targets.items() if text not in parts]


def _fitted(region: Region, reads: list[_Read]) -> list[int]:
    """Bytes of what a model that is given nothing is fitted to: where a step that learns begins with a parameter, its
    result meets the batch element by element, before the loss is one value."""
    first = [str(dims) for dims in filled(reads[0].shapes)] if reads and region.training else []
    if len(first) != 1 or first[0] not in _parameters(region.trace):
        return []
    launched = region.trace.links.operator[region.work]
    operators = distinct(launched[launched != ABSENT], len(region.trace.events))
    losses = operators[named(region.trace, operators, LOSS)]
    for shapes, dtypes in (arguments_of(region, row) for row in losses.tolist()):
        if reduced := filled(shapes):
            return [prod(reduced[0]) * width(dtypes, 0)]
    return []


@once
def _parameters(trace: Trace) -> set[str]:
    """Shapes of the parameters that learn, as texts."""
    rows, column = np.flatnonzero(bearing(trace, PARAMETER)), trace.args.get(A.SHAPES)
    told: list[int] = np.unique(column.at(rows)).tolist() if column is not None else []
    return {str(dims) for text in told for shape in parsed(trace, text) for dims in tensors(shape)}


def _losses(region: Region) -> Int64s:
    """Rows of the operators that compare with something, from the first that launched work of the step to the last."""
    events, operators = region.trace.events, region.trace.links.operator[region.work]
    launched = operators[operators != ABSENT]
    losses = _comparing(region.trace)
    if not len(launched):
        return losses[:0]
    begun, ended = events.start.take(losses), events.end.take(losses)
    return losses[(ended > events.start[launched].min()) & (begun <= events.start[launched].max())]


@once
def _comparing(trace: Trace) -> Int64s:
    """Rows of all operators that compare with something, as user code called them: autocast calls them again inside."""
    operators = np.flatnonzero(trace.events.category == Category.OPERATOR)
    losses = operators[named(trace, operators, COMPARED)]
    return losses[~np.isin(trace.links.parent[losses], losses)]
