"""The phases, step by step, without a script."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
import torch

from capture.clock import Clock
from capture.forms.eager import Eager
from capture.job import Job, Plan, Target
from capture.progress import Board
from capture.recorder import OWN_PROFILER, Recorder
from capture.region import StopScript

pytestmark = pytest.mark.filterwarnings("default")


def recorder(folder: Path, plan: Plan, **changes: object) -> Recorder:
    job = Job("eager", None, "", False, (), folder, folder / "outputs.pt", "r", plan, Target(ordinal=0))
    job = job.with_(**changes)
    return Recorder(job, Board(job.board), Eager(lambda: None), lambda: None)


def steps_until_stopped(found: Recorder, limit: int = 1_000_000) -> int:
    found.begin(0, True, None)
    for step in range(limit):
        try:
            found.before_call()
        except StopScript:
            return step
        found.after_call(None, torch.ones(1))
    raise AssertionError("never stopped")


def test_a_plan_takes_exactly_its_steps(tmp_path: Path) -> None:
    plan = Plan(3, 14, 2, 1, longer=False)
    found = recorder(tmp_path, plan)
    assert steps_until_stopped(found) == plan.steps == 20
    assert (found.record.warmup_steps, found.record.steps, found.record.traced_steps) == (3, 12, 2)
    assert found.job.raw_trace.exists()


def test_short_steps_are_measured_until_their_time_is_long_enough(tmp_path: Path) -> None:
    found = recorder(tmp_path, Plan(3, 14, 1, 1))
    assert steps_until_stopped(found) > 1000
    assert found.record.wall_ms is not None
    assert found.record.steps is not None
    assert found.record.wall_ms * found.record.steps > 100


def test_no_more_steps_than_the_script_makes(tmp_path: Path) -> None:
    found = recorder(tmp_path, Plan(3, 14, 2, 1, available=50))
    assert steps_until_stopped(found) == 50


def test_a_check_ends_with_the_warm_up(tmp_path: Path) -> None:
    found = recorder(tmp_path, Plan(5, 14, 2, 1), check_only=True)
    assert steps_until_stopped(found) == 5
    assert found.record.step_ms is None


def test_a_script_that_swallows_the_stop_is_stopped_again(tmp_path: Path) -> None:
    found = recorder(tmp_path, Plan(3, 7, 1, 1, longer=False))
    steps_until_stopped(found)
    with pytest.raises(StopScript):
        found.before_call()


def test_a_script_may_run_to_its_end(tmp_path: Path) -> None:
    found = recorder(tmp_path, Plan(3, 7, 1, 1, longer=False), to_end=True)
    found.begin(0, True, None)
    for _ in range(30):
        found.before_call()
        found.after_call(None, None)
    assert found.finished


def test_steps_that_are_measured_under_the_scripts_own_profiler_are_noted(tmp_path: Path) -> None:
    found = recorder(tmp_path, Plan(3, 14, 2, 1, longer=False))
    found.begin(0, True, None)
    with torch.autograd.profiler.profile():
        for _ in range(12):
            found.before_call()
            found.after_call(None, None)
    assert found.record.notes == [OWN_PROFILER]
    other = recorder(tmp_path, Plan(3, 14, 2, 1, longer=False))
    steps_until_stopped(other)
    assert not other.record.notes


class Queue(Clock):
    """A device that is busy 5 ms with each step, which the host only queues."""

    def __init__(self, cuda: bool) -> None:
        super().__init__(cuda)
        self.queued = 0

    def drain(self) -> float:
        time.sleep(self.queued * 0.005)
        self.queued = 0
        return super().drain()


def test_steps_that_the_host_only_queues_are_judged_by_the_devices_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capture.recorder.Clock", Queue)
    found = recorder(tmp_path, Plan(3, 14, 1, 1))
    clock = found._clock
    assert isinstance(clock, Queue)
    found.begin(0, True, None)
    longest = 0
    with contextlib.suppress(StopScript):
        while True:
            found.before_call()
            clock.queued += 1
            longest = max(longest, clock.queued)
            found.after_call(None, None)
    assert 2 < longest <= 10, "as many steps as last 50 ms of the device"
