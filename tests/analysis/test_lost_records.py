"""Records that are missing, repeated or mended are named before an answer is made from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.recordings import of, trust
from tests.build import TraceBuilder
from tracelens.analysis import analyze
from tracelens.loading import load_trace

STEP = 1_000
KERNELS = 20


def told(steps: int = 4, runs: float = 3) -> TraceBuilder:
    """Steps of the same short kernels, each launched by an operator."""
    builder = TraceBuilder()
    for step in range(steps):
        builder.step(step, step * STEP, STEP - 10)
        for kernel in range(KERNELS):
            at = step * STEP + 10 + 40 * kernel
            builder.op("aten::linear", at, 30).op("aten::addmm", at + 2, 26, shapes=[[kernel + 1, 8]])
            builder.launch(f"gemm_{kernel}", at + 10, 5, at=at + 20, runs=runs)
    return builder


@pytest.mark.parametrize("runs", [0.5, 3, 18])
@pytest.mark.parametrize(("twice", "level"), [(1, "degraded"), (60, "unusable")])
def test_device_records_that_repeat_are_seen_however_short_they_are(runs: float, twice: int, level: str) -> None:
    builder = told(runs=runs)
    builder.events += [event for event in builder.events if event["cat"] == "kernel"][:twice]
    found = trust(builder)
    assert of(found, "duplicates").value == pytest.approx(twice / (3 * KERNELS + twice))
    assert found.level == level


def test_equal_work_at_one_time_on_two_streams_repeats_nothing() -> None:
    builder = told()
    for number, stream in enumerate((8, 9, 8)):
        builder.launch("gemm", 5, 2, at=15 + number // 2, runs=1, stream=stream)
    assert of(trust(builder), "duplicates").value == 0.0


@pytest.mark.parametrize(("recorded", "passed"), [(4, False), (6, True)])
def test_records_that_end_before_the_launches_do(recorded: int, passed: bool) -> None:
    """The steps without device work are not counted; they are no reason to say nothing of them."""
    builder = told(steps=6)
    end = recorded * STEP
    builder.events = [event for event in builder.events if event["cat"] != "kernel" or event["ts"] < end]
    found = trust(builder)
    assert of(found, "lost_later").passed == passed
    assert of(found, "lost_launches").value == 0.0
    assert found.level == ("ok" if passed else "degraded")


def test_a_range_is_not_blamed_for_what_comes_after_it() -> None:
    builder = told(steps=6)
    builder.events = [event for event in builder.events if event["cat"] != "kernel" or event["ts"] < 2 * STEP]
    found = analyze(builder.trace(), span=(0, 1_800_000)).trust
    assert of(found, "lost_later").passed


@pytest.mark.parametrize(("lost", "passed"), [(0, True), (1, True), (10, False)])
def test_steps_whose_same_kernels_come_from_other_operators(lost: int, passed: bool) -> None:
    builder = told()
    calls = [event for event in builder.events if event["name"] == "aten::addmm"]
    for event in calls[:lost]:
        builder.events.remove(event)
    found = of(trust(builder), "operators")
    assert found.value == pytest.approx(lost / KERNELS)
    assert found.passed == passed


def test_steps_of_other_kernels_may_have_other_operators() -> None:
    builder = told().op("aten::mm", 900, 30).launch("other", 910, 5, at=920, runs=3)
    assert of(trust(builder), "operators").value is None


@pytest.mark.parametrize(("damaged", "passed"), [(0, True), (1, True), (200, False)])
def test_events_that_are_read_as_far_as_they_go(damaged: int, passed: bool, tmp_path: Path) -> None:
    """A comma in numbers as people write them cuts each to its thousands."""
    text = json.dumps(told(runs=3.125).document())
    path = tmp_path / "trace.json"
    path.write_text(text.replace('"dur": 3.125', '"dur": 3,125', damaged))
    found = analyze(load_trace(path)).trust
    assert of(found, "mended").passed == passed
    assert found.level == ("ok" if passed else "degraded")
