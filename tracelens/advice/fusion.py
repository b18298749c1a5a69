"""Which kernels torch.compile makes of an eager step, and how long they run: a fusion model. Times in ns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.before import before
from tracelens.advice.concatenation import at_each_element, parts_of_concatenations
from tracelens.advice.facts import Facts
from tracelens.advice.operators import Operators, Role
from tracelens.advice.region import Region
from tracelens.advice.schedule import graph_spacing, stretched
from tracelens.model.events import ABSENT, Bools, Floats, Int64s, Trace
from tracelens.model.nesting import nearest

EQUAL_PARTS: Final = (2, 3, 4)
"""Equal parts that a tensor is read in."""
LOOPED: Final = 3
"""More calls of recurrent layers than this come from a loop. [judgement]"""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The device work of a compiled step."""

    library: float
    """Device time of calls into libraries, as in eager."""
    generated: float
    """Device time of generated kernels."""
    library_kernels: int
    """Memsets included."""
    library_spacing: float
    """Time that they take in a graph beside their durations."""
    generated_kernels: int
    library_calls: Int64s
    """Rows of the operators that stay calls."""
    replaced: int
    """Eager kernels that the generated ones replace."""
    replaced_ns: float
    """Their device time."""
    single_precision: float
    """Device time of single-precision matrix products among the library calls."""
    from_host: float
    """Device time of copies from the host among the library calls."""
    awaited: float
    """... into tensors that were there before: compiled code waits for each."""
    untraceable: bool
    """The step calls recurrent layers, which the compiler leaves to eager."""
    certain: bool
    """Shapes and bandwidth were known."""

    @property
    def device(self) -> float:
        """Device time in ns without spacing."""
        return self.library + self.generated

    @property
    def kernels(self) -> int:
        """All kernels and memsets."""
        return self.library_kernels + self.generated_kernels


def compile_device(facts: Facts) -> Compiled:
    """The compiled step's device work: libraries stay, runs of other kernels between them fuse.

    Streams that user code forks become one; those inside a library call stay."""
    region = facts.region
    operators = _eager_in_a_loop(_eager_once_fed(region, facts.operators))
    unfused = _loses_bias(operators)
    stays = (operators.role == Role.LIBRARY) | _vanishes_whole(operators)
    library = stays & ~(unfused & operators.bias_kernel)
    forked = region.fork.any()
    overlap = 1 - stretched(region, facts.share) if forked else facts.span(C.NODE_SPACING).overlap
    fused = np.flatnonzero((operators.role != Role.LIBRARY) & (operators.role != Role.VANISHES))
    groups = _Groups(region, operators, fused)
    calls = operators.name[library & ~region.memset]
    changed = np.where(unfused & (facts.share < 1), C.UNFUSED_BIAS, 1.0) * region.duration
    duration = (
        np.where(unfused & operators.few_rows & (operators.third <= C.NARROW), C.SPLIT_PRODUCT, changed) * overlap
    )
    return Compiled(
        library=float(duration[library].sum()),
        generated=float(groups.times(facts.bandwidth.rate).sum()),
        library_kernels=int(library.sum()),
        library_spacing=float(graph_spacing(region)[library].sum()),
        generated_kernels=int(groups.kernels().sum()),
        library_calls=_outermost(region.trace, np.unique(calls[calls != ABSENT])),
        replaced=len(fused),
        replaced_ns=float(region.duration[fused].sum()),
        single_precision=float(duration[library & operators.single_precision].sum()),
        from_host=float(duration[operators.from_host].sum()),
        awaited=float(duration[operators.in_place].sum()),
        untraceable=bool(operators.recurrent.any()),
        certain=facts.bandwidth.known and bool(operators.sized[fused].mean() > 0.5) if len(fused) else True,
    )


def _eager_once_fed(region: Region, operators: Operators) -> Operators:
    """The operators, of which those after the wait for a number that a later one takes stay as in eager: the compiler
    gives up making them anew for each number."""
    ahead = region.waits[region.waits <= region.fed]
    if region.training or region.fed == len(region) or not len(ahead):
        return operators
    after = np.arange(len(region)) >= ahead[-1]
    return replace(operators, role=np.where(after, Role.LIBRARY, operators.role))


def _eager_in_a_loop(operators: Operators) -> Operators:
    """The operators, of which those between recurrent layers that a loop calls stay as in eager: each breaks the graph,
    and the compiler leaves a loop whose body does that to eager."""
    calls = np.flatnonzero(operators.recurrent & (operators.name != before(operators.name, ABSENT)))
    if len(calls) <= LOOPED:
        return operators
    at = np.arange(len(operators.role))
    within = (at >= calls[0]) & (at <= calls[-1]) & (operators.role != Role.VANISHES)
    return replace(operators, role=np.where(within, Role.LIBRARY, operators.role))


def _vanishes_whole(operators: Operators) -> bool:
    """Whether the step is nothing but work that vanishes beside other work, such as memsets: it stays then."""
    return bool((operators.role == Role.VANISHES).all())


def _outermost(trace: Trace, operators: Int64s) -> Int64s:
    """The operators that no other of them encloses."""
    mask = np.zeros(len(trace.events), dtype=np.bool_)
    mask[operators] = True
    return operators[nearest(trace.links.parent, trace.links.parent[operators], mask) == ABSENT]


def _loses_bias(operators: Operators) -> Bools:
    """Single-precision work of an addmm that generated pointwise work follows: the compiler moves its bias there. Work
    on two tensors may follow two of them."""
    biased = operators.single_precision & operators.biased & (operators.name != ABSENT)
    pointwise = np.append(operators.role[1:], Role.LIBRARY) == Role.POINTWISE
    last = biased & pointwise
    pairs = last & np.append(operators.inputs[1:] > 1, False)[: len(last)]
    elements, matched = operators.elements, operators.matched
    alike = (elements == before(elements, -1)) & (matched == before(matched, -1))
    first = np.append(pairs & alike, False)[1:]
    return biased & np.isin(operators.name, operators.name[last | (biased & first) | _read_later(operators, biased)])


def _read_later(operators: Operators, biased: Bools) -> Bools:
    """Products of few rows whose result, whole or in parts, pointwise work is the first to read, if later."""
    columns = operators.third
    result = operators.matched * columns**2 / np.maximum(operators.elements, 1)
    asked = biased & operators.few_rows & (columns > 0)
    found = np.zeros(len(biased), dtype=np.bool_)
    for size in np.unique(result[asked]).tolist():
        parts = [size / part for part in (1, *EQUAL_PARTS)]
        reads = np.isin(operators.matched, parts) | np.isin(operators.third, parts) | np.isin(operators.elements, parts)
        readers, at = np.flatnonzero(reads | ~operators.sized), np.flatnonzero(asked & (result == size))
        after = np.append(readers, len(biased))[np.searchsorted(readers, at, side="right")]
        found[at] = np.append(operators.role == Role.POINTWISE, False)[after]
    return found


class _Groups:
    """Runs of fusable work and the kernels they become."""

    def __init__(self, region: Region, operators: Operators, fused: Int64s) -> None:
        self.work = fused
        breaks = _breaks(operators, fused) if len(fused) else np.empty(0, dtype=np.bool_)
        self.first = np.flatnonzero(_beside(region, operators, fused, breaks)) if len(fused) else np.flatnonzero(breaks)
        parts = parts_of_concatenations(operators, fused, self.first)
        self.operators, self.role = at_each_element(operators, fused, parts), operators.role[fused]
        self.parts = self._most(parts)
        self.duration = region.duration[fused]
        self.eager = self._sum(self.duration)
        self.elements = self._most(self.operators.elements[fused])

    def kernels(self) -> Int64s:
        """Generated kernels per group."""
        return self._joined() + self._copies().astype(np.int64)

    def _copies(self) -> Floats:
        """Kernels that copy one tensor each of a long concatenation; eager batches them."""
        listed = self._most(self.operators.listed[self.work])
        return np.where((listed > C.COPIED_INPUTS) & ~self._any(self.role == Role.FOREACH), listed - 1, 0)

    def _copying(self, shortest: Floats) -> Floats:
        """Device time of those: they move as much as the eager kernel that they replace."""
        copied = self.operators.listed[self.work] > C.COPIED_INPUTS
        return self._copies() * shortest + np.where(self._copies() > 0, self._sum(self.duration * copied), 0.0)

    def _joined(self) -> Int64s:
        full = self._any((self.role == Role.FULL) & (self.operators.elements[self.work] > C.SPLIT_REDUCTION))
        column = self._any((self.role == Role.COLUMN) & (self.operators.elements[self.work] > C.SPLIT_COLUMN))
        zeroes = self._any(self.role == Role.SCATTER)
        calls = np.maximum(self._sum(np.ones(len(self.work))) / np.maximum(self._operators(), 1), 1)
        foreach = np.where(self._any(self.role == Role.FOREACH), np.ceil(calls) - 1, 0)
        return (1 + full + column + zeroes + foreach).astype(np.int64)

    def times(self, bandwidth: float) -> Floats:
        """Device time per group: bounded by traffic, arithmetic and the shortest kernel; never above eager."""
        reduces = self._any(np.isin(self.role, (Role.ROW, Role.FULL, Role.COLUMN)))
        shortest = np.where(reduces, C.SHORTEST_REDUCTION, C.SHORTEST_POINTWISE)
        moved = self._traffic() + self._read_again()
        latency = C.REDUCTION_LATENCY * self._sum(
            (self.role == Role.ROW) * (1.0 + self.operators.normalises[self.work])
        )
        least = np.maximum(C.RAMP + latency + moved / bandwidth, self._arithmetic())
        streaming = np.where(self._any(self.role == Role.FOREACH), self._optimizer(), least)
        time = np.maximum(streaming, shortest) + (self._joined() - 1) * shortest
        return np.where(self._alone(), self.eager, np.minimum(time, self.eager)) + self._copying(shortest)

    def _alone(self) -> Bools:
        """The pointwise kernels of a step in which no kernel has another to join: generated, each moves what it moved
        before."""
        pointwise = (self.role == Role.POINTWISE) & ~self.operators.casts[self.work]
        return self._any(pointwise) & (len(self.first) == len(self.operators.role))

    def _traffic(self) -> Floats:
        """Bytes: external reads, and one write unless all is reduced, of the largest tensor as it comes and goes.

        Each operator but the first reads one tensor that the one before made; what is left are external reads. Of
        several tensors that operators update in place each is read and written; each part of a concatenation reads for
        itself what parts share."""
        full = self.operators.elements[self.work] == self._spread(self.elements)
        inputs = np.where(full, self.operators.inputs[self.work], 0)
        uses = self._sum(inputs) - (self._sum(inputs > 0) - 1)
        reads = np.where(full, self.operators.read[self.work], 0)
        shrinks = self.operators.shrinks[self.work]
        writes = np.where(full & ~shrinks, self.operators.written[self.work], 0)
        reduced = self._last(full * (1.0 + (shrinks & (self.role != Role.COLUMN)))) > 1
        reuse = np.where(self._any(self.role == Role.SCATTER), C.GATHER_REUSE, 1.0)
        updated = self._sum(full & self.operators.updates[self.work])
        updated = np.where(updated > 1, updated, 0)
        uses = np.clip(uses, 1, np.maximum(updated + 1, np.maximum(uses / C.READ_ONCE, 2 * self.parts)))
        return (uses * self._first(reads) + self._last(writes) * np.maximum(~reduced, updated)) / reuse

    def _read_again(self) -> Floats:
        """Bytes of long rows that are read once more for each reduction, those from the cache at its rate."""
        elements, bytes = self.operators.elements[self.work], self.operators.bytes[self.work]
        row = self.operators.row[self.work]
        rows = (self.role == Role.ROW) & (row > C.PERSISTENT_ROW)
        cached = row * bytes / np.maximum(elements, 1) < C.CACHED_ROW
        return self._sum(bytes * rows / np.where(cached, C.CACHED_RATE, 1.0))

    def _arithmetic(self) -> Floats:
        held = (self.role == Role.ROW) & (self.operators.row[self.work] <= C.PERSISTENT_ROW)
        cost = self.operators.arithmetic[self.work] + C.ROW_REDUCTION * held
        return self._sum(cost * self.operators.elements[self.work])

    def _optimizer(self) -> Floats:
        """A run of foreach operators reads and writes each tensor once instead of in every operator."""
        return self.eager * np.minimum(C.OPTIMIZER_TRAFFIC / (C.FOREACH_TRAFFIC * np.maximum(self._operators(), 1)), 1)

    def _operators(self) -> Floats:
        """Operators per group."""
        name = self.operators.name[self.work]
        fresh = np.append(True, np.diff(name) != 0) if len(name) else np.empty(0, dtype=np.bool_)
        return self._sum(fresh)

    def _sum(self, values: Floats | Bools) -> Floats:
        return np.add.reduceat(values.astype(np.float64), self.first) if len(self.first) else np.empty(0)

    def _first(self, values: Floats) -> Floats:
        """The first of the group's values that is not 0; 0 where all are."""
        return self._edge(values, 1)

    def _last(self, values: Floats) -> Floats:
        """The last of the group's values that is not 0; 0 where all are."""
        return self._edge(values, -1)

    def _edge(self, values: Floats, step: int) -> Floats:
        at = np.flatnonzero(values)[::step]
        groups, found = np.unique(np.searchsorted(self.first, at, side="right") - 1, return_index=True)
        edge = np.zeros(len(self.first))
        edge[groups] = values[at[found]]
        return edge

    def _most(self, values: Floats) -> Floats:
        return np.maximum.reduceat(values, self.first) if len(self.first) else np.empty(0)

    def _any(self, values: Bools) -> Bools:
        return self._sum(values) > 0

    def _spread(self, values: Floats) -> Floats:
        """A value per group, repeated for its work."""
        return np.repeat(values, np.diff(np.append(self.first, len(self.work))))


def _breaks(operators: Operators, fused: Int64s) -> Bools:
    """Where a new generated kernel starts among the fusable work."""
    role, elements, alone = operators.role[fused], operators.elements[fused], operators.standalone[fused]
    role_before, size_before = before(role, ABSENT), before(elements, 0)
    apart = (np.diff(_libraries_before(operators, fused), prepend=-1) > 0) & ~_passed_by(operators, fused)
    ends = np.isin(role_before, (Role.FULL, Role.COLUMN, Role.SCATTER)) & ~_side_by_side(operators, fused)
    ends = ends | before(alone, False) | alone
    foreach = (role == Role.FOREACH) != (role_before == Role.FOREACH)
    breaks = apart | ends | foreach | _next_stencil(operators, fused) | _next_copy(operators, fused)
    breaks = breaks | _other_size(operators, fused, elements, size_before)
    breaks = breaks | (_reads_anywhere(operators, fused) & _rows_in_group(role, breaks))
    return breaks | (np.isin(role, (Role.FULL, Role.COLUMN)) & _rows_in_group(role, breaks))


def _beside(region: Region, operators: Operators, fused: Int64s, breaks: Bools) -> Bools:
    """Work that began while the work before it on another stream still ran reads none of what that made: it is a kernel
    of its own, unless both are loops over as many elements."""
    events, work, stream = region.trace.events, region.work[fused], region.stream[fused]
    running = (events.start[work[1:]] < events.end[work[:-1]]) & (stream[1:] != stream[:-1])
    apart = breaks | np.append(False, running)[: len(fused)]
    longest = np.maximum.reduceat(operators.elements[fused], np.flatnonzero(apart))
    return apart & (breaks | np.append(True, np.diff(longest) != 0)[np.cumsum(apart) - 1])


def _next_stencil(operators: Operators, fused: Int64s) -> Bools:
    """Shifted reads of what a stencil before has made: that is stored first, for it would be computed once for each
    neighbour. Between the reads of one stencil no more is done than to weigh a neighbour and add it."""
    at, shifts = np.arange(len(fused)), operators.shifts[fused]
    last = before(np.maximum.accumulate(np.where(shifts, at, ABSENT)), ABSENT)
    return shifts & (last != ABSENT) & (at - last > C.STENCIL)


def _reads_anywhere(operators: Operators, fused: Int64s) -> Bools:
    """The first gather after reductions along rows: it reads anywhere, so that what they gave is stored before."""
    gathers, rows = operators.gathers[fused], np.cumsum(operators.role[fused] == Role.ROW)
    told = before(np.maximum.accumulate(np.where(gathers, rows, 0)), 0)
    return gathers & (rows > told)


def _next_copy(operators: Operators, fused: Int64s) -> Bools:
    """Copies into another layout that follow one another: each reads what no other does and gives a tensor of its own,
    which nothing fuses."""
    copies = (operators.casts & (operators.read == operators.written))[fused]
    return copies & before(copies, False)


def _side_by_side(operators: Operators, fused: Int64s) -> Bools:
    """Reductions that follow one another over tensors of the same size read one tensor: one kernel makes them all."""
    role, elements, shrinks = operators.role[fused], operators.elements[fused], operators.shrinks[fused]
    reduces = shrinks & np.isin(role, (Role.FULL, Role.COLUMN))
    alike = (role == before(role, ABSENT)) & (elements == before(elements, -1))
    return alike & reduces & before(reduces, False)


def _rows_in_group(role: Int64s, breaks: Bools) -> Bools:
    """Whether the group so far holds a reduction along rows: no kernel holds that and a reduction to one value."""
    rows = np.cumsum(role == Role.ROW)
    start = np.maximum.accumulate(np.where(breaks, np.arange(len(role)), 0))
    return rows - rows[start] + (role[start] == Role.ROW) > 0


def _passed_by(operators: Operators, fused: Int64s) -> Bools:
    """Work on two tensors, one of which the fusable work before a library call made and that call did not read, as of a
    gate: it is computed where it is used."""
    elements, role = operators.elements, operators.role[fused]
    library = np.flatnonzero((operators.role == Role.LIBRARY) & operators.sized)
    following = np.searchsorted(fused, np.flatnonzero(operators.role == Role.LIBRARY))
    if not len(fused):
        return np.empty(0, dtype=np.bool_)
    made = np.append(0.0, elements[fused])[np.searchsorted(fused, library)]
    reads = (elements[library] == made) | (operators.matched[library] == made) | (operators.third[library] == made)
    sound = np.bincount(np.searchsorted(fused, library[~reads]), minlength=len(fused) + 1)
    passed = np.bincount(following, minlength=len(fused) + 1) == sound
    same = (elements[fused] == before(elements[fused], -1)) & (before(role, ABSENT) == Role.POINTWISE)
    return passed[:-1] & same & (role == Role.POINTWISE) & (operators.inputs[fused] > 1) & operators.sized[fused]


def _libraries_before(operators: Operators, fused: Int64s) -> Int64s:
    return np.cumsum(operators.role == Role.LIBRARY)[fused]


def _other_size(operators: Operators, fused: Int64s, elements: Floats, size_before: Floats) -> Bools:
    """Pointwise work on tensors of another size than the work before is a loop of its own, unless it reads a tensor
    of that size (it broadcasts), the next work of that size broadcasts what it gives, or the sizes are a reduction's
    input and output."""
    sized = operators.sized[fused]
    known = sized & before(sized, False) & (operators.role[fused] == Role.POINTWISE)
    broadcast = operators.matched[fused] == size_before
    small = np.minimum(elements, size_before) * 2 <= operators.row[fused]
    after, size_after = (np.append(values[1:], 0.0) for values in (operators.matched[fused], elements))
    inlined = (after == elements) & (size_after == size_before)
    joins = broadcast | small | inlined | _slices(operators, fused, size_before) | _after_reduction(operators, fused)
    return known & (elements < size_before) & ~joins


def _slices(operators: Operators, fused: Int64s, size_before: Floats) -> Bools:
    """Whether work computes on a half, third or quarter of the tensor before, as on its slices; casts rather bring a
    tensor of their own."""
    parts = size_before / np.maximum(operators.elements[fused], 1)
    return ~operators.casts[fused] & np.isin(parts, EQUAL_PARTS)


def _after_reduction(operators: Operators, fused: Int64s) -> Bools:
    """Whether a reduction along rows came before in the same stretch between libraries."""
    stretch = _libraries_before(operators, fused)
    rows = np.cumsum(operators.role[fused] == Role.ROW)
    start = np.searchsorted(stretch, stretch)
    return rows > np.where(start > 0, rows[start - 1], 0)
