"""The period of a sequence of launches."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.analysis.periods import MATCH, PERIODS, TIE, period_of


def sequence(*contents: int) -> np.ndarray:
    return np.array(contents, dtype=np.int64)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(3, 6))
def test_a_repeated_unit_is_found_or_a_part_that_repeats_in_it(unit: list[int], repeats: int) -> None:
    content = np.tile(sequence(*unit), repeats)
    period = period_of(content)
    assert period
    assert len(unit) % period == 0
    assert (content[period:] == content[:-period]).all()


@given(st.integers(5, 60), st.integers(3, 6))
def test_distinct_launches_repeat_as_a_whole(length: int, repeats: int) -> None:
    assert period_of(np.tile(np.arange(length), repeats)) == length


def test_a_few_odd_launches_do_not_hide_the_period() -> None:
    content = np.tile(np.arange(50), 8)
    content[[77, 201]] = 999
    assert period_of(content) == 50


def test_a_remainder_does_not_hide_the_period() -> None:
    assert period_of(np.tile(np.arange(50), 4)[:-17]) == 50


def test_many_periods_that_nearly_repeat_take_little_time() -> None:
    at = np.arange(60_000)
    nearly = np.where(at % 50_021, at % 997 % 3, 9)
    begun = time.process_time()
    assert period_of(nearly) == 994
    assert time.process_time() - begun < 2


def occurs_throughout(content: np.ndarray, period: int) -> bool:
    """Whether what is seen 3 times or more occurs in all windows of this length, or all but one."""
    windows = [set(content[at : at + period]) for at in range(0, len(content) - period + 1, period)]
    often = [one for one in set(content) if (content == one).sum() >= 3]
    return all(sum(one in window for window in windows) >= len(windows) - 1 for one in often)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.integers(3, 30), st.lists(st.integers(0, 200)))
def test_the_shortest_of_the_best_periods_that_hold_all_is_found(unit: list[int], times: int, odd: list[int]) -> None:
    content = np.tile(sequence(*unit), times)
    content[[at for at in odd[:2] if at < len(content)]] = 7
    match = {p: (content[p:] == content[:-p]).mean() for p in range(1, len(content) // PERIODS + 1)}
    good = {p: share for p, share in match.items() if share >= MATCH and occurs_throughout(content, p)}
    best = max(good.values(), default=0)
    assert period_of(content) == next((p for p, share in good.items() if share >= best - TIE), 0)


def test_two_repetitions_are_not_enough() -> None:
    assert period_of(np.tile(np.arange(50), 2)) == 0


def test_a_run_of_one_kernel_within_the_unit_is_not_the_unit() -> None:
    """Most launches equal their neighbour, but the last of each unit occurs only once in it."""
    unit = sequence(*[0] * 199, 1)
    assert period_of(np.tile(unit, 5)) == 200


def test_nothing_repeats_in_nothing() -> None:
    assert period_of(sequence()) == period_of(sequence(1)) == period_of(sequence(1, 2, 3, 4, 5, 6)) == 0
