"""Sines and cosines that later work broadcasts: generated code computes them anew for each element that reads them.

[Inductor stores a pointwise result that several read only where it reads much or takes many operations:
StorageBox.should_realize_on_reuse]"""

from __future__ import annotations

import numpy as np

from tracelens.advice.operators.roles import Role
from tracelens.model.events import Bools, Floats, Int64s


def computed_anew(role: Int64s, elements: Floats, matched: Floats, waves: Bools, arithmetic: Floats) -> Floats:
    """(n) ns per element that each of n pieces of work spends on a table that it reads: on one of those that are made
    side by side, and its share of all that leads to them.

    waves: sines and cosines; arithmetic: ns per element of each piece of work for itself."""
    spent = np.zeros(len(role))
    pointwise = role == Role.POINTWISE
    tables = np.flatnonzero(pointwise & waves)
    for size in np.unique(elements[tables]).tolist():
        made = tables[elements[tables] == size]
        readers = pointwise & (matched == size) & (elements > size)
        readers[: made[0]] = False
        ends = np.append(np.flatnonzero(~pointwise | (elements > size)), len(role))
        beside = made[made < ends[ends > made[0]][0]]
        first = int(ends[ends < made[0]].max(initial=-1)) + 1
        chain = slice(first, int(beside[-1]) + 1)
        spent[readers] += arithmetic[chain].sum() / len(beside)
    return spent
