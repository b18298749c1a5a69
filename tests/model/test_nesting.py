"""Which event encloses which, against a look at every pair."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.model import nesting
from tracelens.model.events import ABSENT
from tracelens.model.nesting import enclosing, enclosing_among, nearest

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 12)), max_size=16)
"""Events as (lane, start, duration): nested, overlapping, empty and equal ones."""


@given(EVENTS, st.sampled_from([0, 1, nesting.MOST_CLIMBS]))
def test_the_innermost_is_the_one_begun_last_that_is_still_open(
    events: list[tuple[int, int, int]], climbs: int
) -> None:
    table = np.array(events, dtype=np.int64).reshape(-1, 3)
    with patch.object(nesting, "MOST_CLIMBS", climbs):
        parent = enclosing(table[:, 0].astype(np.int32), table[:, 1], table[:, 1] + table[:, 2])
    assert parent.tolist() == [expected(events, i) for i in range(len(events))]


@given(EVENTS)
def test_absurd_times_overflow_nothing(events: list[tuple[int, int, int]]) -> None:
    table = np.array(events, dtype=np.int64).reshape(-1, 3)
    far = 2**57
    parent = enclosing(table[:, 0].astype(np.int32) + 40, table[:, 1] * far, (table[:, 1] + table[:, 2]) * far)
    assert parent.tolist() == [expected(events, i) for i in range(len(events))]


def expected(events: list[tuple[int, int, int]], index: int) -> int:
    def opening(i: int) -> tuple[int, int, int]:
        return events[i][1], -events[i][2], i

    lane, start, _ = events[index]
    earlier = (i for i in range(len(events)) if events[i][0] == lane and opening(i) < opening(index))
    return max((i for i in earlier if sum(events[i][1:]) > start), key=opening, default=-1)


def test_nearest_climbs_to_the_first_wanted() -> None:
    parent = np.array([-1, 0, 1, 2, -1])
    wanted = np.array([True, False, True, False, False])
    assert nearest(parent, np.array([3, 2, 1, 4, -1]), wanted).tolist() == [2, 2, 0, -1, -1]


@given(EVENTS, st.data())
def test_what_encloses_among_some_follows_from_what_encloses_among_all(
    events: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    table = np.array(events, dtype=np.int64).reshape(-1, 3)
    lane, start, end = table[:, 0].astype(np.int32), table[:, 1], table[:, 1] + table[:, 2]
    chosen = data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events)))
    rows = np.flatnonzero(np.array(chosen, dtype=np.bool_))
    found = enclosing_among(rows, enclosing(lane, start, end), lane, start, end)
    assert found.tolist() == enclosing(lane[rows], start[rows], end[rows]).tolist()


@pytest.mark.parametrize("depth", [10, 1000])
def test_what_follows_a_deep_stack_is_in_what_is_open_still(depth: int) -> None:
    start = np.append(np.arange(depth + 1), 5 * depth)
    end = np.concatenate(([9 * depth], 3 * depth - np.arange(1, depth + 1), [6 * depth]))
    parent = enclosing(np.zeros(depth + 2, dtype=np.int32), start, end)
    assert parent.tolist() == [ABSENT, *range(depth), 0]


def test_a_long_chain_of_overlaps_is_climbed() -> None:
    """Each event but the last opens before the one before it closes; under each lies a short one."""
    long = np.arange(300) * 10
    start, end = np.concatenate((long, long + 5)), np.concatenate((long + 12, long + 6))
    lane, parent = np.zeros(600, dtype=np.int32), enclosing(np.zeros(600, dtype=np.int32), start, end)
    short = np.arange(300, 600)
    assert parent[short].tolist() == list(range(300))
    assert (enclosing_among(short, parent, lane, start, end) == ABSENT).all()
    assert nearest(parent, short, np.arange(600) == 7).tolist() == [ABSENT] * 7 + [7] * 293


@pytest.mark.parametrize("share", [1, 3, 9])
@pytest.mark.parametrize("among", [0.0, 0.02, 0.5, 1.0])
def test_nearest_of_few_and_of_many_rows(share: int, among: float) -> None:
    random = np.random.default_rng(share)
    parent = (np.arange(900) * random.random(900) - 1).astype(np.int32)
    wanted = random.random(900) < among
    rows = np.append(np.arange(0, 900, share), ABSENT)

    def climb(row: int) -> int:
        while row != ABSENT and not wanted[row]:
            row = int(parent[row])
        return row

    assert nearest(parent, rows, wanted).tolist() == [climb(row) for row in rows.tolist()]
