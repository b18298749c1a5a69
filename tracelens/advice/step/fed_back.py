"""Numbers read from the device that the host gives to later operators: the compiler makes new code for each."""

from __future__ import annotations

import numpy as np

from tracelens.advice.arguments import parsed
from tracelens.analysis.work import stacked
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Int64s, Trace


def first_fed(trace: Trace, runs: list[Int64s]) -> int:
    """Position of the first work of a step whose operator takes a fraction that changes from step to step.

    runs: the rows of each compared step's work. The length of a step where none changes or steps are not alike."""
    length, column = len(runs[0]), trace.args.get(A.CONCRETE)
    if column is None or any(len(run) != length for run in runs):
        return length
    operators = trace.links.operator[stacked(runs)].astype(np.int64)
    texts = np.where(operators == ABSENT, ABSENT, column.at(operators.ravel()).reshape(operators.shape))
    names = np.where(operators == ABSENT, ABSENT, trace.events.name[operators])
    differ = (texts != texts[0]).any(axis=0) & (names == names[0]).all(axis=0)
    found = (int(at) for at in np.flatnonzero(differ) if _fraction_changes(trace, texts[:, at]))
    return next(found, length)


def _fraction_changes(trace: Trace, texts: Int64s) -> bool:
    """Whether lists of arguments, by their texts, differ in a number that is not whole."""
    columns = zip(*(parsed(trace, int(text)) for text in np.unique(texts)), strict=False)
    return any(len(set(map(str, column))) > 1 and all(map(_is_fraction, column)) for column in columns)


def _is_fraction(argument: object) -> bool:
    try:
        return isinstance(argument, str) and not float(argument).is_integer()
    except ValueError:
        return False
