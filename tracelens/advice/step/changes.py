"""How the counted steps differ from one another."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.analysis.work import is_alike, stacked
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Int64s, Trace


@dataclass(frozen=True, slots=True)
class Changes:
    """Whether some of the counted steps differ, as far as their records are whole."""

    kernels: bool
    """They launch other kernels, or in another order."""
    operators: bool
    """... from other operators, or in another order."""
    shapes: bool
    """Their operators take inputs of other shapes; False where shapes are not recorded."""
    unlike: int
    """Steps that differ from the most common one in kernels or shapes."""

    @property
    def lost_operators(self) -> bool:
        """The same kernels from other operators: records of operators are missing, so what they tell is not sure."""
        return self.operators and not self.kernels


NONE: Final = Changes(kernels=False, operators=False, shapes=False, unlike=0)


def find_changes(trace: Trace, runs: list[Int64s]) -> Changes:
    """How runs (rows of device work in launch order, each of one step) differ.

    Of the same kernels, shapes are compared where the same operators launched them: elsewhere records are missing."""
    names, shapes, by = trace.events.name, _shapes(trace), [trace.links.operator[run].astype(np.int64) for run in runs]
    called = [_once(operators) for operators in by]
    other = not is_alike(called, names)
    if not is_alike(runs, names):
        kinds = [names[run].tobytes() + shapes[operators].tobytes() for run, operators in zip(runs, by, strict=True)]
        return Changes(True, other, not is_alike(called, shapes), _unlike(kinds))
    each = stacked(by)
    known = (each != ABSENT) & (shapes[each] != ABSENT) & (names[each] == names[each[0]])
    kinds = [row.tobytes() for row in shapes[each][:, known.all(axis=0)]]
    return Changes(False, other, len(set(kinds)) > 1, _unlike(kinds))


def _once(operators: Int64s) -> Int64s:
    """Operators that launched a step's work one after the other, each once."""
    counts = operators != ABSENT
    counts[1:] &= operators[1:] != operators[:-1]
    return operators[counts]


def _shapes(trace: Trace) -> Int64s:
    """Shapes of each row's inputs as an index of their text; ABSENT where not recorded."""
    column = trace.args.get(A.SHAPES)
    every = np.full(len(trace.events), ABSENT, dtype=np.int64)
    if column is not None:
        every[column.rows] = column.values
    return every


def _unlike(kinds: list[bytes]) -> int:
    """How many differ from the most common one."""
    return len(kinds) - max(Counter(kinds).values())
