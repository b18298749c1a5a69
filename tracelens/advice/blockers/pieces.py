"""The pieces that the waits of a step leave of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.blockers.blockers import Observation
from tracelens.advice.patterns import FROM_HOST
from tracelens.advice.step.called import outermost
from tracelens.advice.step.region import Region
from tracelens.model.events import ABSENT, Bools, Category, Int32s, Int64s
from tracelens.model.names import bearing, named
from tracelens.model.nesting import nearest

LOOP: Final = 3
"""More pieces than this come from a loop that waits in its body, which the compiler leaves to eager."""
UNLIKE_ROUNDS: Final = 0.2
"""How likely pieces none of which repeats take what the rounds of a loop do. [judgement; 0 of 2 steps with more such
pieces than LOOP, as Dynamo traces their programs, and 0 of 14 with two or three; the rounds of 11 loops repeat]"""
WRITTEN_OUT: Final = 5
"""Up to so many pieces waits may cut code without a loop, each of whose pieces is compiled. [judgement]"""
SOLVER: Final = re.compile(r"^aten::_?linalg_")
"""Operators that stay calls of a graph though they wait: their results have shapes that the arguments tell."""
READ: Final = re.compile(r"^aten::_local_scalar_dense$")
"""A value read on the host; that of a solver's errors compiled code leaves out. [H200, 1 step]"""


@dataclass(frozen=True, slots=True)
class Blocked:
    """How much of the step can run without interruption."""

    capturable: bool
    """Nothing proven prevents the capture of the whole step."""
    pieces: int
    """Stretches of launches between blocking waits."""
    graphs: int
    """Those of them with launches that the compiler takes into a graph: it leaves to eager the operator that waits.
    None where such operators launch all."""
    solves: bool
    """An operator waits that stays in a graph: that graph cannot be captured."""
    launches: float
    """Launches in the stretch that a launch is in, on average."""
    repeated: float = 0.0
    """Share of the launches in stretches whose kernels another stretch repeats: in a loop most."""

    @property
    def is_loop(self) -> bool:
        """Whether there are too many pieces for code written out."""
        return self.graphs > WRITTEN_OUT

    @property
    def repeats(self) -> bool:
        """Whether the pieces are the rounds of a loop that waits in its body."""
        return self.pieces > 2 and self.repeated > C.LOOPED_LAUNCHES

    @property
    def left(self) -> float:
        """How likely the compiler leaves the pieces to eager: the more alike and the shorter they are."""
        short, long = C.REGION_LAUNCHES
        repeated = min(self.repeated / C.LOOPED_LAUNCHES, 1.0)
        looped = UNLIKE_ROUNDS + (1 - UNLIKE_ROUNDS) * repeated
        return looped * min(max((long - self.launches) / (long - short), 0.0), 1.0)


def find_pieces(region: Region, observed: tuple[Observation, ...]) -> Blocked:
    """What the proven blockers leave of the step; a stray wait is no proof and splits nothing."""
    capturable = not any(seen.vetoes for seen in observed)
    waits = any(seen.vetoes and seen.blocker.id == "sync" for seen in observed)
    solving = _solving(region)
    breaking = waits & ~solving & ~_copying(region)
    bounds = np.unique(np.concatenate(([0], region.waits[breaking], [len(region)]))).astype(np.int64)
    inside = np.diff(bounds).astype(float)
    return Blocked(
        capturable,
        max(len(bounds) - 1, 1),
        _graphs(region, bounds, region.wait_rows[breaking]),
        bool((waits & solving & ~named(region.trace, _operators(region), READ)).any()),
        float((inside * inside).sum()) / max(len(region), 1),
        _repeated(region, bounds),
    )


def _repeated(region: Region, bounds: Int64s) -> float:
    """Share of the launches in stretches, each from one bound to the next, of the same kernels as another."""
    names = region.trace.events.name[region.work]
    stretches = [names[first:last].tobytes() for first, last in pairwise(bounds.tolist())]
    often = Counter(stretches)
    return sum(len(stretch) for stretch in stretches if often[stretch] > 1) / max(names.nbytes, 1)


def _operators(region: Region) -> Int32s:
    """(w) The operator that makes each wait, or ABSENT."""
    return region.trace.links.operator[region.wait_rows]


def _solving(region: Region) -> Bools:
    """(w) Which waits solvers make."""
    solvers = bearing(region.trace, SOLVER, Category.OPERATOR)
    return nearest(region.trace.links.parent, _operators(region), solvers) != ABSENT


def _copying(region: Region) -> Bools:
    """(w) Which waits are those of copies from the host's memory: operators of the graph."""
    behind, operator = region.work[np.maximum(region.waits - 1, 0)], region.trace.links.operator
    same = (operator[behind] == operator[region.wait_rows]) & (operator[behind] != ABSENT)
    return same & named(region.trace, behind, FROM_HOST)


def _graphs(region: Region, bounds: Int64s, waits: Int64s) -> int:
    """How many stretches, each from one bound to the next, hold launches of other operators than those of the waits'
    rows."""
    called = outermost(region.trace, region.trace.links.operator[region.work])
    left = outermost(region.trace, region.trace.links.operator[waits])
    own = np.append(0, np.cumsum((called == ABSENT) | ~np.isin(called, left)))
    return int((np.diff(own[bounds]) > 0).sum())
