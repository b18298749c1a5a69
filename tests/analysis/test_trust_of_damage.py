"""Whether a trace is whole, and what of it could not be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.recordings import check, of, sound, trust
from tests.analysis.recordings import steps as of_lengths
from tests.build import TraceBuilder
from tracelens.analysis import analyze
from tracelens.analysis.damage import in_steps
from tracelens.analysis.results import Analysis, Trust
from tracelens.loading import load_trace


def cut(builder: TraceBuilder, path: Path, share: float) -> Trust:
    path.write_bytes(builder.bytes()[: int(len(builder.bytes()) * share)])
    return analyze(load_trace(path), span="all").trust


def test_a_file_that_was_cut_short(tmp_path: Path) -> None:
    found = cut(sound(launches=40), tmp_path / "cut.json", 0.7)
    assert of(found, "whole").passed is False
    assert found.level == "degraded"
    assert check(sound(), "whole").value == 0


def test_a_file_cut_before_its_device_work(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for number in range(40):
        builder.op("aten::add", number * 20, 10)
    found = cut(sound(builder), tmp_path / "cut.json", 0.5)
    assert found.level == "unusable"
    assert "finish writing" in found.checks[0].message


@pytest.mark.parametrize(("timeless", "level"), [(0, "ok"), (1, "degraded"), (9, "unusable")])
def test_events_without_a_time(timeless: int, level: str) -> None:
    builder = sound(launches=30)
    for number in range(timeless):
        builder.raw({"ph": "X", "cat": "cpu_op", "name": "lost", "pid": 1, "tid": number, "dur": 1, "args": {}})
    found = trust(builder)
    assert found.level == level
    assert of(found, "times").value == pytest.approx(timeless / (62 + timeless))


@pytest.mark.parametrize(("unread", "level"), [(0, "ok"), (1, "degraded"), (9, "unusable")])
def test_events_with_values_that_cannot_be_read(unread: int, level: str) -> None:
    builder = sound(launches=30)
    for number in range(unread):
        lost = {"ph": "X", "name": "lost", "pid": 1, "tid": number}
        builder.raw(lost | {"ts": 0, "dur": 1, "cat": 7, "args": {}})
    found = trust(builder)
    assert found.level == level
    assert of(found, "values").value == pytest.approx(unread / (62 + unread))
    assert f"({unread} " in of(found, "values").message or level == "ok"


def test_a_stray_value_that_cannot_be_read_is_mended_without_a_doubt() -> None:
    builder = sound(launches=600)
    builder.raw({"ph": "X", "name": "lost", "pid": 1, "tid": 9, "ts": 0, "dur": 1, "cat": 7, "args": {}})
    assert of(trust(builder), "values").value == pytest.approx(1 / 1203)
    assert trust(builder).level == "ok"


def damaged_at(time: int) -> Analysis:
    """Of four steps of 400 us behind one that warms up, an event at a time in us with a category that is no text."""
    builder = of_lengths([2_000, *[400] * 3])
    builder.raw({"ph": "X", "name": "odd", "pid": 1, "tid": 9, "ts": time, "dur": 1, "cat": 7, "args": {}})
    return analyze(builder.trace())


def test_trust_looks_at_the_damage_of_the_counted_steps() -> None:
    inside, outside = damaged_at(2_600), damaged_at(500)
    assert len(inside.window.tiles) == 3, "the step that warms up is left out"
    assert [of(found.trust, "values").passed for found in (inside, outside)] == [False, True]
    assert of(outside.trust, "values").value == 0
    told = [in_steps(found.trace, found.steps, found.trace.repairs[0]) for found in (inside, outside)]
    assert told == [1, 0]
    assert "(1 categories that are no text, the first 7)" in of(inside.trust, "values").message


def test_damage_in_no_step_that_is_known_counts_whole() -> None:
    builder = sound(launches=30)
    builder.raw({"ph": "X", "name": "odd", "pid": 1, "tid": 9, "ts": 0, "dur": 1, "cat": 7, "args": {}})
    whole = analyze(builder.trace(), span="all")
    assert in_steps(whole.trace, whole.steps, whole.trace.repairs[0]) is None
    assert of(whole.trust, "values").value == pytest.approx(1 / 63)
    lost = replace(damaged_at(500).trace.repairs[0], events=None)
    found = damaged_at(500)
    assert in_steps(found.trace, found.steps, lost) is None


def of_damaged(builder: TraceBuilder, folder: Path, which: int, **changes: object) -> Analysis:
    """The analysis of a trace in which one of the kernels gives something else."""
    document, path = builder.document(), folder / "trace.json"
    [event for event in document["traceEvents"] if event.get("cat") == "kernel"][which] |= changes
    path.write_text(json.dumps(document))
    annotated = any(event["name"].startswith("ProfilerStep#") for event in builder.events)
    return analyze(load_trace(path), span=None if annotated else "all")


@pytest.mark.parametrize("dur", [None, "x", -5, 1e300])
def test_work_without_a_duration_counts_against_the_devices_work(dur: object, tmp_path: Path) -> None:
    found = of(of_damaged(sound(launches=600), tmp_path, 0, dur=dur).trust, "values")
    assert (found.passed, found.value) == (False, pytest.approx(1 / 600))


def test_an_id_that_no_column_holds_is_not_read(tmp_path: Path) -> None:
    found = of(of_damaged(sound(), tmp_path, 0, args={"device": 0, "stream": 7, "correlation": 2**70}).trust, "values")
    assert (found.passed, found.value) == (False, pytest.approx(1 / 26))


@pytest.mark.parametrize("ts", [None, 0])
def test_work_without_a_time_counts_against_the_devices_work(ts: object, tmp_path: Path) -> None:
    builder = TraceBuilder()
    for at in range(0, 40_000, 10):
        builder.op("aten::t", 10_000_000 + at, 1)
    builder = sound(builder, launches=40, start=10_040_000)
    found = of(of_damaged(builder, tmp_path, -1, ts=ts).trust, "times")
    assert (found.passed, found.value) == (False, pytest.approx(1 / 40))
    assert found.message.startswith("2.5 % of device events have no usable time")


def moved(builder: TraceBuilder) -> TraceBuilder:
    """The trace ten seconds later, far from a time of 0."""
    for event in builder.events:
        event["ts"] += 10_000_000
    return builder


def test_nobody_knows_in_which_step_an_event_without_a_time_was(tmp_path: Path) -> None:
    found = of_damaged(moved(of_lengths([400] * 4)), tmp_path, -1, ts=1e300)
    assert found.trace.repairs
    assert {in_steps(found.trace, found.steps, repair) for repair in found.trace.repairs} == {None}


@pytest.mark.parametrize("ts", [None, 0])
def test_steps_begin_with_work_that_has_a_time(ts: object, tmp_path: Path) -> None:
    builder = moved(of_lengths([400] * 4))
    whole = analyze(builder.trace())
    found = of_damaged(builder, tmp_path, -1, ts=ts)
    assert found.steps.window.tiles.tolist() == whole.steps.window.tiles.tolist()
    assert found.steps.notes == whole.steps.notes


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("c-{}", "as 24 correlations cannot be read (the first is c-101)"),
        (None, "as no event gives a usable correlation"),
    ],
)
def test_correlations_that_cannot_be_read_are_no_cut_of_the_file(written: str | None, why: str) -> None:
    builder = sound()
    for event in builder.events:
        if "correlation" in event["args"]:
            event["args"]["correlation"] = written and written.format(event["args"]["correlation"])
    found = trust(builder)
    assert found.level == "unusable"
    assert why in of(found, "linked").message
    assert "uncut" not in of(found, "linked").message
    assert of(found, "lost_launches").passed
