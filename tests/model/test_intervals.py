"""Interval arithmetic against sets of integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.model import intervals
from tracelens.model.events import Int64s

INSTANTS = st.integers(0, 40)
SPANS = st.lists(st.tuples(INSTANTS, INSTANTS).map(sorted), max_size=12)
"""Pairs with start <= end: some are empty, touch, nest or repeat."""


def columns(spans: list[list[int]]) -> tuple[Int64s, Int64s]:
    pairs = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def union(spans: list[list[int]]) -> Int64s:
    return intervals.union(*columns(spans))


def instants(pairs: Int64s | list[list[int]]) -> set[int]:
    return {instant for start, end in np.asarray(pairs).reshape(-1, 2) for instant in range(int(start), int(end))}


def is_interval_set(pairs: Int64s) -> bool:
    return bool((pairs[:, 1] > pairs[:, 0]).all() and (pairs[1:, 0] > pairs[:-1, 1]).all())


@given(SPANS)
def test_union_covers_what_any_interval_covers(spans: list[list[int]]) -> None:
    joined = union(spans)
    assert is_interval_set(joined)
    assert instants(joined) == instants(spans)
    assert intervals.length(joined) == len(instants(spans)) <= sum(end - start for start, end in spans)


@given(SPANS, SPANS)
def test_difference_and_intersection_are_those_of_sets(first: list[list[int]], second: list[list[int]]) -> None:
    a, b = union(first), union(second)
    assert instants(intervals.subtract(a, b)) == instants(a) - instants(b)
    assert instants(intervals.intersect(a, b)) == instants(a) & instants(b)
    assert is_interval_set(intervals.subtract(a, b))
    assert is_interval_set(intervals.intersect(a, b))


@given(SPANS, INSTANTS, INSTANTS)
def test_complement_and_clip_split_a_range(spans: list[list[int]], low: int, high: int) -> None:
    covered, inside = union(spans), set(range(low, high))
    assert instants(intervals.clip(covered, low, high)) == instants(spans) & inside
    assert instants(intervals.complement(covered, low, high)) == inside - instants(spans)


@given(SPANS, st.lists(st.tuples(INSTANTS, INSTANTS).map(sorted), max_size=5))
def test_covered_measures_each_range(spans: list[list[int]], ranges: list[list[int]]) -> None:
    low, high = columns(ranges)
    expected = [len(instants(spans) & set(range(start, end))) for start, end in ranges]
    assert intervals.covered(union(spans), low, high).tolist() == expected


@given(SPANS, st.data())
def test_foremost_gives_each_instant_to_the_lowest_rank(spans: list[list[int]], data: st.DataObject) -> None:
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=len(spans), max_size=len(spans)))
    start, end, rank = intervals.foremost(*columns(spans), np.array(ranks, dtype=np.uint8))
    pieces = {instant: int(r) for s, e, r in zip(start, end, rank, strict=True) for instant in range(int(s), int(e))}
    expected = {
        instant: min(r for (s, e), r in zip(spans, ranks, strict=True) if s <= instant < e)
        for instant in instants(spans)
    }
    assert pieces == expected
    assert (start[1:] >= end[:-1]).all()


def test_times_keep_every_nanosecond_of_an_epoch() -> None:
    start = np.array([1_790_857_026_000_000_001], dtype=np.int64)
    joined = intervals.union(start, start + 1)
    assert intervals.length(joined) == 1
    assert int(joined[0, 0]) == 1_790_857_026_000_000_001


def test_nothing_has_no_length() -> None:
    nothing = intervals.empty()
    assert intervals.length(nothing) == 0
    assert intervals.complement(nothing, 3, 9).tolist() == [[3, 9]]
    assert intervals.complement(nothing, 9, 3).tolist() == []
    assert intervals.intersect(nothing, nothing).tolist() == []
