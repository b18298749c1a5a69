"""Coverage counts each covered ns once, in any stretch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.tui.coverage import Coverage

SPANS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=30)


def coverage(spans: list[tuple[int, int]]) -> Coverage:
    start = np.array([start for start, _ in spans], dtype=np.int64)
    return Coverage.of(start, start + np.array([length for _, length in spans], dtype=np.int64))


@given(SPANS, st.lists(st.integers(-10, 260), min_size=2, max_size=10, unique=True))
def test_covered_time_is_that_of_the_union(spans: list[tuple[int, int]], edges: list[int]) -> None:
    covered = {ns for start, length in spans for ns in range(start, start + length)}
    edges = sorted(edges)
    expected = [sum(ns in covered for ns in range(a, b)) for a, b in pairwise(edges)]
    assert coverage(spans).within(np.array(edges)).tolist() == expected


@given(SPANS)
def test_spans_are_disjoint_and_ascending(spans: list[tuple[int, int]]) -> None:
    union = coverage(spans)
    assert (union.start[1:] > union.end[:-1]).all()
    assert union.before[-1] <= sum(length for _, length in spans)


def test_shares_of_cells() -> None:
    assert coverage([(0, 5), (10, 10), (12, 3)]).shares(np.array([0, 10, 20, 40])).tolist() == [0.5, 1.0, 0.0]
