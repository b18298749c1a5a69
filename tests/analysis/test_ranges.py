"""A range that is asked for as the window."""

from __future__ import annotations

import pytest

from tests.analysis.repeated import owned, steps_of, tiles_us
from tracelens.analysis.steps import find_steps
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT


def test_a_range_is_one_tile_that_owns_what_was_launched_in_it() -> None:
    trace = steps_of([100, 100, 100], lag=60).trace()
    steps = find_steps(trace, 0, span=(100_000, 200_000))
    assert steps.window.kind == "range"
    assert tiles_us(steps) == [[100, 200]]
    assert owned(trace, steps, "relu") == [ABSENT, 0, ABSENT]


def test_all_is_the_first_to_the_last_device_event() -> None:
    trace = steps_of([100, 100, 100]).kernel("stray", 2, 3).trace()
    steps = find_steps(trace, 0, span="all")
    assert (steps.window.kind, steps.window.name) == ("range", "all")
    assert tiles_us(steps) == [[2, 250]]
    assert steps.notes == ()
    assert set(steps.owner[trace.events.device_work()].tolist()) == {0}


@pytest.mark.parametrize("span", [(200_000, 10**30), (-5, 100_000)])
def test_a_range_beyond_the_recording_is_cut(span: tuple[int, int]) -> None:
    trace = steps_of([100, 100, 100]).trace()
    steps = find_steps(trace, 0, span=span)
    end = int(trace.events.end.max())
    assert steps.window.tiles.tolist() == [[max(span[0], 0), min(span[1], end)]]
    assert len(steps.notes) == 1


def test_a_range_outside_the_recording_holds_nothing() -> None:
    steps = find_steps(steps_of([100, 100]).trace(), 0, span=(10**9, 2 * 10**9))
    assert steps.window.tiles.tolist() == [[10**9, 2 * 10**9]]
    assert set(steps.owner.tolist()) == {ABSENT}
    assert steps.notes == ("the range lies outside the recording, which lasts 200 us",)


def test_a_range_and_a_step_are_not_judged_together() -> None:
    with pytest.raises(UsageError, match="leave out one"):
        find_steps(steps_of([100, 100, 100]).trace(), 0, name="ProfilerStep", span="all")


def test_an_empty_range_is_an_error() -> None:
    with pytest.raises(UsageError, match="empty range"):
        find_steps(steps_of([100, 100]).trace(), 0, span=(5, 5))
