"""Arithmetic of half-open intervals [start, end) in integer ns.

An *interval set* is an int64 array of shape (n, 2): ascending, disjoint, no empty interval.
"""

from __future__ import annotations

import numpy as np

from tracelens.model.events import Bools, Bytes, Int64s


def empty() -> Int64s:
    """The interval set that covers nothing."""
    return np.empty((0, 2), dtype=np.int64)


def union(start: Int64s, end: Int64s) -> Int64s:
    """Interval set covered by any of the intervals, in any order; touching ones are joined."""
    solid = np.flatnonzero(end > start)
    starts, reach = start.take(solid), end.take(solid)
    if not len(starts):
        return empty()
    if not _ascend(starts):
        order = np.argsort(starts, kind="stable")
        starts, reach = starts[order], reach[order]
    np.maximum.accumulate(reach, out=reach)
    first = np.flatnonzero(np.append(True, starts[1:] > reach[:-1]))
    last = np.append(first[1:], len(starts)) - 1
    return np.column_stack((starts.take(first), reach.take(last)))


def joined(start: Int64s, end: Int64s) -> Int64s:
    """The same of ascending disjoint intervals, none of them empty."""
    if not len(start):
        return empty()
    apart = np.flatnonzero(start[1:] > end[:-1])
    return np.column_stack((start[np.append(0, apart + 1)], end[np.append(apart, len(end) - 1)]))


def complement(intervals: Int64s, low: int, high: int) -> Int64s:
    """What of [low, high) the interval set leaves uncovered."""
    inside = clip(intervals, low, high)
    holes = np.column_stack((np.append(low, inside[:, 1]), np.append(inside[:, 0], high)))
    return holes[holes[:, 1] > holes[:, 0]]


def clip(intervals: Int64s, low: int, high: int) -> Int64s:
    """The part of the interval set inside [low, high)."""
    cut = np.clip(intervals, low, max(low, high))
    return cut[cut[:, 1] > cut[:, 0]]


def intersect(first: Int64s, second: Int64s) -> Int64s:
    """What both interval sets cover."""
    few, many = (first, second) if len(first) <= len(second) else (second, first)
    begin = np.searchsorted(many[:, 1], few[:, 0], side="right")
    count = np.searchsorted(many[:, 0], few[:, 1]) - begin
    one = np.repeat(np.arange(len(few)), count)
    other = np.arange(len(one)) - np.repeat(np.cumsum(count) - count - begin, count)
    start, end = np.maximum(few[one, 0], many[other, 0]), np.minimum(few[one, 1], many[other, 1])
    return np.column_stack((start, end))


def subtract(first: Int64s, second: Int64s) -> Int64s:
    """What the first interval set covers and the second does not."""
    return intersect(first, complement(second, first[0, 0], first[-1, 1])) if len(first) else first


def lengths(intervals: Int64s) -> Int64s:
    """(n) ns of each interval."""
    return intervals[:, 1] - intervals[:, 0]


def length(intervals: Int64s) -> int:
    """ns covered by the interval set."""
    return int(lengths(intervals).sum())


def longest_first(intervals: Int64s) -> Int64s:
    """The intervals by length; of equals the earlier given is first."""
    return intervals[np.argsort(-lengths(intervals), kind="stable")]


def covered(intervals: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """ns that the interval set covers of each [low, high), high >= low."""
    return covered_before(intervals, high) - covered_before(intervals, low)


def inside(start: Int64s, end: Int64s, time: Int64s) -> Bools:
    """Whether each time lies in one of the ascending disjoint intervals, which may touch."""
    at = np.searchsorted(start, time, side="right") - 1
    return (at >= 0) & (time < np.append(end, 0)[at])


def reached(edges: Int64s, time: Int64s) -> Int64s:
    """How many of the ascending edges lie at or before each time: np.searchsorted from the side of the fewer, where the
    times ascend as well."""
    if len(edges) >= len(time) or not _ascend(time):
        return np.searchsorted(edges, time, side="right")
    first = np.searchsorted(time, edges)
    return np.repeat(np.arange(len(edges) + 1), np.diff(first, prepend=0, append=len(time)))


def _ascend(times: Int64s) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def covered_before(intervals: Int64s, time: Int64s) -> Int64s:
    """ns that the interval set covers before each time."""
    total = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths(intervals))))
    after = reached(intervals[:, 0], time)
    if not len(intervals):
        return np.zeros(len(time), dtype=np.int64)
    open_end = np.where(after > 0, intervals[after - 1, 1], time)
    return total[after] - np.maximum(open_end - time, 0)


def foremost(start: Int64s, end: Int64s, rank: Bytes) -> tuple[Int64s, Int64s, Bytes]:
    """Cut overlapping intervals into disjoint pieces, each of the lowest rank that covers it.

    Returns starts, ends and ranks of the pieces, ascending in time; uncovered time has none. O(ranks x n log n).
    """
    solid = np.flatnonzero(end > start)
    start, end, rank = start[solid], end[solid], rank[solid]
    if (start[1:] >= end[:-1]).all():
        return start, end, rank  # one after the other already
    times = np.concatenate((start, end))
    order = np.argsort(times, kind="stable")
    times, ranks = times[order], np.tile(rank, 2)[order]
    opens = np.where(order < len(solid), 1, -1)
    best = np.full(len(times), 255, dtype=np.uint8)
    for value in np.unique(rank)[::-1]:
        best[np.cumsum(np.where(ranks == value, opens, 0)) > 0] = value
    keep = np.flatnonzero((best[:-1] != 255) & (times[1:] > times[:-1]))
    return times[keep], times[keep + 1], best[keep]
