"""Where the compiler begins another kernel among the work that it generates."""

from __future__ import annotations

from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.before import before
from tracelens.advice.step.region import Region
from tracelens.model.events import ABSENT, Bools, Floats, Int64s
from tracelens.model.masks import run_starts

EQUAL_PARTS: Final = (2, 3, 4)
"""Equal parts that a tensor is read in."""
EDGES: Final = 0.1
"""Share of a tensor that its edges are at most, which differences of neighbours lose. [judgement]"""


def breaks(operators: Operators, fused: Int64s) -> Bools:
    """Where a new generated kernel starts among the fusable work."""
    role, elements, alone = operators.role[fused], operators.elements[fused], operators.standalone[fused]
    role_before, size_before = before(role, ABSENT), before(elements, 0)
    apart = (np.diff(libraries_before(operators, fused), prepend=-1) > 0) & ~_passed_by(operators, fused)
    ends = np.isin(role_before, (Role.FULL, Role.COLUMN, Role.SCATTER)) & ~_side_by_side(operators, fused)
    ends = ends & ~before((operators.subtracted & (operators.stages == 0))[fused], False)
    ends = ends | before(alone, False) | alone
    foreach = (role == Role.FOREACH) != (role_before == Role.FOREACH)
    starts = apart | ends | foreach | _next_stencil(operators, fused) | _next_copy(operators, fused)
    starts = starts | _other_size(operators, fused, elements, size_before)
    starts = starts | _other_table(operators, fused) | _outgrows_rows(operators, fused) | _reads_parts(operators, fused)
    starts = starts | (_reads_anywhere(operators, fused) & _rows_in_group(role, starts))
    reduces = np.isin(role, (Role.FULL, Role.COLUMN))
    return starts | (reduces & _rows_in_group(role, starts | before(reduces, False)))


def split_by_stream(region: Region, operators: Operators, fused: Int64s, starts: Bools) -> Bools:
    """The starts of kernels, with those that streams add: work that began while the work before it on another stream
    still ran reads none of what that made. It is a kernel of its own, unless both are loops over as many elements."""
    events, work, stream = region.trace.events, region.work[fused], region.stream[fused]
    running = (events.start[work[1:]] < events.end[work[:-1]]) & (stream[1:] != stream[:-1])
    apart = starts | np.append(False, running)[: len(fused)]
    longest = np.maximum.reduceat(operators.elements[fused], np.flatnonzero(apart))
    return apart & (starts | run_starts(longest)[np.cumsum(apart) - 1])


def _next_stencil(operators: Operators, fused: Int64s) -> Bools:
    """Shifted reads of what a stencil before has made: that is stored first, for it would be computed once for each
    neighbour. Between the reads of one stencil no more is done than to weigh a neighbour and add it."""
    at, shifts = np.arange(len(fused)), operators.shifts[fused]
    last = before(np.maximum.accumulate(np.where(shifts, at, ABSENT)), ABSENT)
    return shifts & (last != ABSENT) & (at - last > C.STENCIL)


def _outgrows_rows(operators: Operators, fused: Int64s) -> Bools:
    """The first work on a larger tensor behind a reduction along rows: the loops of that are over fewer elements."""
    role, elements, sized = operators.role[fused], operators.elements[fused], operators.sized[fused]
    at, stretch = np.arange(len(fused)), libraries_before(operators, fused)
    last = before(np.maximum.accumulate(np.where((role == Role.ROW) & sized, at, ABSENT)), ABSENT)
    larger = (last != ABSENT) & (elements > elements[last]) & (stretch == stretch[last]) & sized
    past = np.cumsum(larger)
    return larger & (past - past[last] == 1)


def _reads_parts(operators: Operators, fused: Int64s) -> Bools:
    """The first work on equal parts of what was made before, if the next work on the whole reads what that gives: each
    element would be computed for itself and for every part that reads it. [Inductor's StorageBox.mark_reuse]"""
    starts = np.zeros(len(fused), dtype=np.bool_)
    elements, pointwise = operators.elements[fused], operators.role[fused] == Role.POINTWISE
    sizes = np.unique(elements[pointwise & (elements > 1)])
    for size in sizes[np.isin(np.outer(sizes, EQUAL_PARTS), sizes).any(axis=1)].tolist():
        at = np.flatnonzero(elements >= size)
        larger, last = np.flatnonzero(elements[at] > size), before(at, ABSENT)
        of = np.where(last == ABSENT, 0.0, elements[last])
        first = np.flatnonzero(
            (elements[at] == size) & np.isin(of / size, EQUAL_PARTS) & pointwise[at] & pointwise[last]
        )
        following = np.append(larger, 0)[np.searchsorted(larger, first)]
        back = (elements[at[following]] == of[first]) & (operators.matched[fused][at[following]] == size)
        starts[at[first]] |= back & (following - first > C.STENCIL)
    return starts


def _reads_anywhere(operators: Operators, fused: Int64s) -> Bools:
    """The first gather after reductions along rows: it reads anywhere, so that what they gave is stored before."""
    gathers, rows = operators.gathers[fused], np.cumsum(operators.role[fused] == Role.ROW)
    told = before(np.maximum.accumulate(np.where(gathers, rows, 0)), 0)
    return gathers & (rows > told)


def _other_table(operators: Operators, fused: Int64s) -> Bools:
    """A gather behind one of rows of another length: it reads another table, and nothing of what that one made. Gathers
    from one table share a kernel, and those of like rows may."""
    gathers, row = operators.gathers[fused], operators.row[fused]
    return gathers & before(gathers, False) & (row != before(row, 0.0)) & operators.sized[fused]


def _next_copy(operators: Operators, fused: Int64s) -> Bools:
    """Copies into another layout that follow one another: each reads what no other does and gives a tensor of its own,
    which nothing fuses."""
    copies = (operators.casts & (operators.inputs > 0) & (operators.read == operators.written))[fused]
    return copies & before(copies, False)


def _side_by_side(operators: Operators, fused: Int64s) -> Bools:
    """Work right behind a reduction on the way to another one over a tensor of the same size, where none reads what the
    first gave: one kernel makes both."""
    role, elements, results = operators.role[fused], operators.elements[fused], operators.results[fused]
    reduces = operators.shrinks[fused] & ~operators.normalises[fused] & np.isin(role, (Role.FULL, Role.COLUMN))
    at, found, stretch = np.arange(len(fused)), np.flatnonzero(reduces), libraries_before(operators, fused)
    last = before(np.maximum.accumulate(np.where(reduces, at, ABSENT)), ABSENT)
    following = np.append(found, 0)[np.searchsorted(found, at)]
    same = (last != ABSENT) & (elements == elements[last])
    alike = same & reduces & (role == role[last]) & (results == results[last]) & (stretch == stretch[last])
    passes = same & (role == Role.POINTWISE) & (operators.matched[fused] != results[last]) & (results[last] > 0)
    others = np.cumsum(~passes)
    return before(reduces, False) & alike[following] & (others[following] - others + ~passes == 1)


def _rows_in_group(role: Int64s, starts: Bools) -> Bools:
    """Whether the group so far holds a reduction along rows: no kernel holds that and a reduction to one value."""
    rows = np.cumsum(role == Role.ROW)
    start = np.maximum.accumulate(np.where(starts, np.arange(len(role)), 0))
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


def libraries_before(operators: Operators, fused: Int64s) -> Int64s:
    """(m) How many library calls come before each of m fusable works."""
    return np.cumsum(operators.role == Role.LIBRARY)[fused]


def _other_size(operators: Operators, fused: Int64s, elements: Floats, size_before: Floats) -> Bools:
    """Pointwise work on tensors of another size than the work before is a loop of its own, unless it reads a tensor
    of that size (it broadcasts), the next work of that size broadcasts what it gives, or the sizes are a reduction's
    input and output."""
    sized = operators.sized[fused]
    known = sized & before(sized, False) & (operators.role[fused] == Role.POINTWISE)
    broadcast = operators.matched[fused] == size_before
    small = np.minimum(elements, size_before) * 2 <= operators.row[fused]
    inlined = _broadcast_next(operators, fused) & (_next_size(elements) == size_before)
    joins = broadcast | small | inlined | _slices(operators, fused, size_before) | _after_reduction(operators, fused)
    return known & (elements < size_before) & ~joins & ~operators.places[fused]


def _next_size(elements: Floats) -> Floats:
    """The size of the first work behind each that has another; 0 where none follows."""
    return np.append(elements[1:], 0.0)[_run_end(elements)]


def _broadcast_next(operators: Operators, fused: Int64s) -> Bools:
    """Whether the first work of another size behind each reads a tensor of its size."""
    elements = operators.elements[fused]
    return np.append(operators.matched[fused][1:], 0.0)[_run_end(elements)] == elements


def _run_end(elements: Floats) -> Int64s:
    """Position of the last work of the same size on end."""
    last = np.append(elements[1:] != elements[:-1], True)
    return np.flatnonzero(last)[np.cumsum(last) - last]


def _slices(operators: Operators, fused: Int64s, size_before: Floats) -> Bools:
    """Whether work computes on a half, third or quarter of the tensor before, as on its slices, or on all but its
    edges; casts rather bring a tensor of their own."""
    parts = size_before / np.maximum(operators.elements[fused], 1)
    return ~operators.casts[fused] & (np.isin(parts, EQUAL_PARTS) | ((parts > 1) & (parts < 1 + EDGES)))


def _after_reduction(operators: Operators, fused: Int64s) -> Bools:
    """Whether a reduction along rows came before in the same stretch between libraries."""
    stretch = libraries_before(operators, fused)
    rows = np.cumsum(operators.role[fused] == Role.ROW)
    start = np.searchsorted(stretch, stretch)
    return rows > np.where(start > 0, rows[start - 1], 0)
