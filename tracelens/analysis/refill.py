"""Dispatch that a wait left to do after it had drained the device's queue."""

from __future__ import annotations

import numpy as np

from tracelens.model.events import Int64s
from tracelens.model.intervals import reached


def spent_credit(start: Int64s, end: Int64s, spends: Int64s, reset: Int64s, credit: Int64s) -> Int64s:
    """How many ns of each piece, from its start on, are paid by the credit of the last reset before it.

    start, end: (n) ns, ascending disjoint pieces that no reset divides. spends: (n) 1 where a piece uses up
    credit, else 0. reset: (m) ns, ascending; credit: (m) ns granted at each, replacing what was left.
    """
    total = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum((end - start) * spends)))
    last = reached(reset, start) - 1
    if not len(reset):
        return np.zeros(len(start), dtype=np.int64)
    spent_at_reset = total[np.searchsorted(start, reset, side="left")]
    left = np.where(last >= 0, spent_at_reset[last] + credit[last] - total[:-1], 0)
    return np.clip(left, 0, (end - start) * spends)
