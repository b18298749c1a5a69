"""Which event encloses which on its lane."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.model.events import ABSENT, Bools, Int32s, Int64s

_BLOCK: Final = 1 << 16
"""Spans looked at together, with those before them that are still open."""

MOST_CLIMBS: Final = 64
"""Ancestors looked at one by one; chains are longer where hundreds of events overlap without nesting."""
MANY: Final = 4
"""From one row in so many on, to climb from all rows in leaps is faster than from each step by step."""


def enclosing(lane: Int32s, start: Int64s, end: Int64s) -> Int64s:
    """Index of the innermost event that is open at the start of each one on its lane, else ABSENT.

    Arrays of one length; times in ns, start >= 0. The innermost is the one begun last, also where events overlap
    without nesting; of two with the same span the earlier given encloses the later. An event of no duration
    encloses nothing. O(n log n), without a Python loop over events.
    """
    begun, ended = _one_after_another(lane, start, end)
    order = by_start(begun, ended)
    result = np.full(len(start), ABSENT, dtype=np.int64)
    still_open = order[:0]
    for begin in range(0, len(order), _BLOCK):
        spans = np.concatenate((still_open, order[begin : begin + _BLOCK]))
        starts, ends = begun[spans], ended[spans]
        parent = _last_open(starts, ends)
        found = parent != ABSENT
        found[: len(still_open)] = False
        result[spans[found]] = spans[parent[found]]
        still_open = spans[ends > starts[-1]]
    return result


def by_start(start: Int64s, end: Int64s) -> Int64s:
    """Order of spans by start, then the longest first; of two alike the earlier given is first.

    Ends are looked at where spans begin together alone: few do, and starts are nearly sorted in a trace."""
    order = np.argsort(start, kind="stable")
    tied = in_a_row(_repeats(start[order]))
    rows = order[tied]
    order[tied] = rows[np.lexsort((rows, -end[rows], start[rows]))]
    return order


def in_a_row(same: Bools) -> Int64s:
    """Places in an order that are the same as one beside them; same: of all but the last, whether the next is."""
    return np.flatnonzero(np.append(same, False) | np.append(False, same))


def _repeats(values: npt.NDArray[np.integer]) -> Bools:
    """Of all values but the last, whether the next is the same."""
    return values[1:] == values[:-1]


def _one_after_another(lane: Int32s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s]:
    """Spans of several lanes as if each lane began after the one before it had ended."""
    if not len(lane):
        return start, end
    first, stride = int(lane.min()), int(end.max()) + 1
    if stride * (int(lane.max()) - first + 1) > np.iinfo(np.int64).max:
        start, end = _ranks(start, end)
        stride = 2 * len(start)
    offset = lane.astype(np.int64)
    offset -= first  # in place: of a large trace each array more is many MB
    offset *= stride
    return offset + start, offset + end


def _ranks(start: Int64s, end: Int64s) -> tuple[Int64s, Int64s]:
    """Small times in the same order, for times so absurd that one after another the lanes would overflow."""
    ranks = np.unique(np.concatenate((start, end)), return_inverse=True)[1].astype(np.int64)
    return ranks[: len(start)], ranks[len(start) :]


def _last_open(starts: Int64s, ends: Int64s) -> Int64s:
    """Position of the last earlier span that ends after each start, else ABSENT; spans sorted by start.

    Climbs from each span to the one before it, and from one that has ended to what was open, or may have been, when
    that began: all between the two ended even earlier. What goes on for long is left to a search in a tree."""
    found = np.arange(-1, len(starts) - 1)
    climbing = np.arange(1, len(starts))
    for _ in range(MOST_CLIMBS):
        climbing = climbing[ends[found[climbing]] <= starts[climbing]]
        found[climbing] = found[found[climbing]]
        climbing = climbing[found[climbing] != ABSENT]
        if not len(climbing):
            return found
    found[climbing] = _last_open_of(climbing, starts, ends)
    return found


def _last_open_of(spans: Int64s, starts: Int64s, ends: Int64s) -> Int64s:
    """The same of some of the spans.

    A tree of maxima over the ends: climb from each span to the first left neighbour that reaches beyond its start,
    then descend in it, right before left."""
    tree = _maxima(ends)
    seeking = node = spans
    found: list[tuple[Int64s, Int64s]] = []
    for reach in tree:
        has_left = np.flatnonzero(node & 1)
        open_left = has_left[reach[node[has_left] - 1] > starts[seeking[has_left]]]
        found.append((seeking[open_left], node[open_left] - 1))
        seeking, node = np.delete(seeking, open_left), np.delete(node, open_left) >> 1
    at = span = np.empty(0, dtype=np.int64)
    for reach, (begun, nodes) in zip(reversed(tree), reversed(found), strict=True):
        right = 2 * at + 1
        at = np.concatenate((right - (reach[right] <= starts[span]), nodes))
        span = np.concatenate((span, begun))
    result = np.full(len(starts), ABSENT, dtype=np.int64)
    result[span] = at
    return result[spans]


def _maxima(values: Int64s) -> list[Int64s]:
    """The values, and the maxima of pairs of the level before until one is left; levels padded to even length."""
    tree = [values]
    while len(tree[-1]) > 1:
        if len(tree[-1]) % 2:
            tree[-1] = np.append(tree[-1], ABSENT)
        tree.append(np.maximum(tree[-1][::2], tree[-1][1::2]))
    return tree


def enclosing_among(rows: Int64s, parent: npt.NDArray[np.integer], lane: Int32s, start: Int64s, end: Int64s) -> Int64s:
    """What `enclosing` finds among some events, as index into `rows`, from what it found among all.

    rows: ascending. parent: (n,) row above each row or ABSENT. Climbs to the first ancestor among the rows that is
    open still: where events overlap without nesting, one may have ended before, and all that ended before that."""
    index = np.full(len(parent) + 1, ABSENT, dtype=np.int64)
    index[rows] = np.arange(len(rows))
    outlives = None
    found = parent[rows].astype(np.int64)
    climbing = np.flatnonzero(found != ABSENT)
    for _ in range(MOST_CLIMBS):
        above = found[climbing]
        ended = end[above] <= start[rows[climbing]]
        climbs = ended | (index[above] == ABSENT)
        climbing, above, ended = climbing[climbs], above[climbs], ended[climbs]
        found[climbing] = parent[above]
        if ended.any():
            outlives = _outliving(parent, end) if outlives is None else outlives
            found[climbing[ended]] = outlives[above[ended]]
        climbing = climbing[found[climbing] != ABSENT]
        if not len(climbing):
            return index[found]
    return enclosing(lane[rows], start[rows], end[rows])


def _outliving(parent: npt.NDArray[np.integer], end: Int64s) -> Int64s:
    """First ancestor of each event that ends after it, else ABSENT: its parent, but where events do not nest."""
    found = parent.astype(np.int64)
    climbing = np.flatnonzero(found != ABSENT)
    while len(climbing := climbing[end[found[climbing]] <= end[climbing]]):
        found[climbing] = found[found[climbing]]
        climbing = climbing[found[climbing] != ABSENT]
    return found


def nearest(parent: npt.NDArray[np.integer], rows: npt.NDArray[np.integer], wanted: Bools) -> Int64s:
    """First of each row and its ancestors that is wanted, else ABSENT.

    parent: (n,) row above each row or ABSENT. rows: rows to start at, ABSENT allowed. wanted: (n,) mask."""
    if not wanted.any():
        return np.full(len(rows), ABSENT, dtype=np.int64)
    if len(rows) > len(parent) // MANY:
        return _all_nearest(parent, wanted)[rows]
    found = rows.astype(np.int64)
    climbing = np.flatnonzero(found != ABSENT)
    for _ in range(MOST_CLIMBS):
        climbing = climbing[~wanted[found[climbing]]]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] != ABSENT]
        if not len(climbing):
            return found
    found[climbing] = _all_nearest(parent, wanted)[found[climbing]]
    return found


def _all_nearest(parent: npt.NDArray[np.integer], wanted: Bools) -> Int64s:
    """`nearest` of every row, by doubling the distance climbed."""
    above = np.append(np.where(wanted, np.arange(len(parent)), parent), ABSENT)
    arrived = np.append(wanted, True)
    climbing = np.flatnonzero(~arrived[above])
    while len(climbing):
        above[climbing] = above[above[climbing]]
        climbing = climbing[~arrived[above[climbing]]]
    return above
