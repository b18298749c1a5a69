"""Arithmetic of half-open intervals [start, end) in integer ns.

An *interval set* is an int64 array of shape (n, 2): ascending, disjoint, no empty interval.
"""

from __future__ import annotations

import numpy as np

from tracelens.model.events import Bytes, Int64s


def empty() -> Int64s:
    """The interval set that covers nothing."""
    return np.empty((0, 2), dtype=np.int64)


def union(start: Int64s, end: Int64s) -> Int64s:
    """Interval set covered by any of the intervals, in any order; touching ones are joined."""
    solid = end > start
    order = np.argsort(start[solid], kind="stable")
    starts, reach = start[solid][order], np.maximum.accumulate(end[solid][order])
    if not len(starts):
        return empty()
    first = np.append(True, starts[1:] > reach[:-1])
    return np.column_stack((starts[first], reach[np.append(first[1:], True)]))


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
    if not len(first) or not len(second):
        return empty()
    low, high = min(first[0, 0], second[0, 0]), max(first[-1, 1], second[-1, 1])
    return subtract(first, complement(second, low, high))


def subtract(first: Int64s, second: Int64s) -> Int64s:
    """What the first interval set covers and the second does not."""
    start, end, kind = foremost(
        np.concatenate((second[:, 0], first[:, 0])),
        np.concatenate((second[:, 1], first[:, 1])),
        np.repeat(np.array([0, 1], dtype=np.uint8), (len(second), len(first))),
    )
    return union(start[kind == 1], end[kind == 1])


def length(intervals: Int64s) -> int:
    """ns covered by the interval set."""
    return int((intervals[:, 1] - intervals[:, 0]).sum())


def covered(intervals: Int64s, low: Int64s, high: Int64s) -> Int64s:
    """ns that the interval set covers of each [low, high), high >= low."""
    return _covered_before(intervals, high) - _covered_before(intervals, low)


def _covered_before(intervals: Int64s, time: Int64s) -> Int64s:
    lengths = intervals[:, 1] - intervals[:, 0]
    total = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    after = np.searchsorted(intervals[:, 0], time, side="right")
    if not len(intervals):
        return np.zeros(len(time), dtype=np.int64)
    open_end = np.where(after > 0, intervals[after - 1, 1], time)
    return total[after] - np.maximum(open_end - time, 0)


def foremost(start: Int64s, end: Int64s, rank: Bytes) -> tuple[Int64s, Int64s, Bytes]:
    """Cut overlapping intervals into disjoint pieces, each of the lowest rank that covers it.

    Returns starts, ends and ranks of the pieces, ascending in time; uncovered time has none. O(ranks x n log n).
    """
    solid = end > start
    times = np.concatenate((start[solid], end[solid]))
    order = np.argsort(times, kind="stable")
    times, ranks = times[order], np.tile(rank[solid], 2)[order]
    opens = np.where(order < np.count_nonzero(solid), 1, -1)
    best = np.full(len(times), 255, dtype=np.uint8)
    for value in np.unique(rank)[::-1]:
        best[np.cumsum(np.where(ranks == value, opens, 0)) > 0] = value
    keep = np.flatnonzero((best[:-1] != 255) & (times[1:] > times[:-1]))
    return times[keep], times[keep + 1], best[keep]
