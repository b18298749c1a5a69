"""Which event encloses which on its lane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, Bools, Int32s, Int64s


def enclosing(lane: Int32s, start: Int64s, end: Int64s) -> Int64s:
    """Index of the innermost event that encloses the start of each one on its lane, else ABSENT.

    Arrays of one length; times in ns, start >= 0. Of two with the same span the earlier given encloses
    the later. An event of no duration encloses nothing. O(n log n) without a Python loop over events.
    """
    order = np.lexsort((-end, start, lane))
    stride = int(end.max(initial=0)) + 1
    offset = lane[order].astype(np.int64) * stride
    starts, ends = offset + start[order], offset + end[order]
    parent = _nearest_open(starts, ends)
    result = np.full(len(start), ABSENT, dtype=np.int64)
    found = parent != ABSENT
    result[order[found]] = order[parent[found]]
    return result


def _nearest_open(starts: Int64s, ends: Int64s) -> Int64s:
    """Position of the last earlier span that is still open at each start; spans sorted by (start, -end)."""
    n = len(starts)
    solid = np.flatnonzero(ends > starts)
    before = np.searchsorted(solid, np.arange(n))
    depth = before - np.searchsorted(np.sort(ends[solid]), starts, side="right")
    solid_depth = depth[solid]
    keys = np.sort(solid_depth * (n + 1) + np.arange(len(solid)))
    at = np.searchsorted(keys, (depth - 1) * (n + 1) + before) - 1
    parent = np.where(depth > 0, solid[keys[np.maximum(at, 0)] % (n + 1)] if len(solid) else 0, ABSENT)
    return _climb_closed(parent, starts, ends)


def _climb_closed(parent: Int64s, starts: Int64s, ends: Int64s) -> Int64s:
    """Replace parents that have ended already (events that overlap without nesting) by theirs."""
    while True:
        closed = np.flatnonzero(parent != ABSENT)
        closed = closed[ends[parent[closed]] <= starts[closed]]
        if not len(closed):
            return parent
        parent[closed] = parent[parent[closed]]


def nearest(parent: npt.NDArray[np.integer], rows: npt.NDArray[np.integer], wanted: Bools) -> Int64s:
    """First of each row and its ancestors that is wanted, else ABSENT.

    parent: (n,) row above each row or ABSENT. rows: rows to start at, ABSENT allowed. wanted: (n,) mask."""
    found = rows.astype(np.int64)
    climbing = np.flatnonzero(found != ABSENT)
    while len(climbing):
        climbing = climbing[~wanted[found[climbing]]]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] != ABSENT]
    return found
