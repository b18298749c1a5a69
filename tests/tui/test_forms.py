"""A run directory: forms side by side."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.build import TraceBuilder
from tests.tui.screens import eager_steps, opened, screen, settled, shows
from tracelens.analysis import analyze
from tracelens.errors import UnreadableError
from tracelens.loading.runs import Run, read_run
from tracelens.tui import _traces_in, clipboard
from tracelens.tui.app import TraceLens
from tracelens.tui.export import default_name
from tracelens.tui.lanes import LaneKind
from tracelens.tui.links import Place
from tracelens.tui.opening import Opening
from tracelens.tui.pages.forms import forms as page
from tracelens.tui.rows import text
from tracelens.tui.runs import changes, step_facts
from tracelens.tui.steps import typical_step
from tracelens.tui.views.forms import FormsView
from tracelens.tui.views.messages import Ranged
from tracelens.tui.views.timeline import TimelineView
from tracelens.tui.widgets.timeline import LaneView


def replayed() -> TraceBuilder:
    builder = TraceBuilder()
    for number in range(4):
        at = 200.0 * number
        builder.step(number, start=at, dur=190)
        kernels = [("nvjet_hsh_64x64", at + 20, 40.0), ("triton_poi_fused_relu_add_0", at + 62, 50.0)]
        builder.launch_graph(start=at + 5, dur=5, kernels=kernels)
    return builder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    eager_steps().write(folder / "eager.pt.trace.json.gz")
    replayed().write(folder / "both.pt.trace.json.gz")
    forms: dict[str, Any] = {
        "eager": {"step_ms": 0.9, "low": 0.8, "high": 1.0, "outputs": "match"},
        "compile": {"step_ms": None, "error": "torch.compile failed", "graph_breaks": []},
        "both": {
            "step_ms": 0.2,
            "low": 0.19,
            "high": 0.21,
            "outputs": "match",
            "triton_kernels": 1,
            "graph_breaks": [{"reason": "Tensor.item", "where": "model.py:41", "count": 2}],
            "recompiles": [{"guard": "size mismatch", "where": "model.py:50", "count": 1}],
        },
    }
    head = {"schema_version": 1, "complete": True, "command": ["train.py"], "target": {"name": "step"}}
    (folder / "run.json").write_text(json.dumps({**head, "forms": forms}))
    return folder


def test_a_run_names_the_traces_of_its_forms(run: Path) -> None:
    found = read_run(run)
    assert found is not None
    assert list(found.forms) == ["eager", "compile", "both"]
    assert found.first_trace() == run / "eager.pt.trace.json.gz"
    assert found.trace("compile") is None


def test_a_broken_manifest_is_refused(tmp_path: Path) -> None:
    assert read_run(tmp_path) is None
    (tmp_path / "run.json").write_text("[")
    with pytest.raises(UnreadableError, match="record the run again"):
        read_run(tmp_path)


def test_kernels_vanish_appear_and_change() -> None:
    before, after = (step_facts(analyze(builder.trace()), "form") for builder in (eager_steps(), replayed()))
    found = {one.name: one.kind for one in changes(before, after)}
    assert found == {
        "triton_poi_fused_relu_add_0": "appeared",
        "void at::native::add_kernel<float>(int)": "vanished",
        "void at::native::relu_kernel<float>(int)": "vanished",
    }
    assert (before.launches, after.launches) == (3, 1)
    assert (before.device_ns, after.device_ns) == (130_000, 90_000)


def test_a_step_begins_at_its_first_device_event() -> None:
    step = typical_step(analyze(eager_steps().trace()), "eager")
    assert [lane.title for lane in step.lanes] == ["eager idle", "eager stream 7", "eager operators", "eager calls"]
    idle, stream, operators, calls = step.lanes
    assert (stream.start.tolist(), stream.end.tolist()) == ([0, 300_000, 700_000], [40_000, 330_000, 760_000])
    assert (idle.start.tolist(), idle.end.tolist()) == ([40_000, 330_000, 760_000], [300_000, 700_000, 1_000_000])
    assert step.begin == -70_000
    assert step.end == 1_000_000
    assert operators.start.tolist() == [-60_000, 230_000, 630_000, 940_000]
    assert calls.label(2) == "cudaDeviceSynchronize"


def test_no_steps_no_lanes() -> None:
    assert typical_step(analyze(TraceBuilder().trace()), "eager").lanes == ()


@asynccontextmanager
async def forms(run: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[TraceLens, Pilot[int]]]:
    """The forms of a run, all read."""
    found = read_run(run)
    assert isinstance(found, Run)
    opening = Opening(str(found.first_trace() or run), run=found)
    app = TraceLens(opening, place=Place(), run=found)
    opening.start()
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        await pilot.press("F")
        await settled(app, pilot)
        await pilot.pause()
        yield app, pilot


async def pressed(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


async def test_forms_lie_side_by_side(run: Path) -> None:
    async with forms(run) as (app, pilot):
        for words in ("0.190-0.21", "torch.compile failed", "eager stream 7", "both stream 7"):
            assert shows(app, words), screen(app)
        await pressed(pilot, "down", "down")
        for words in ("1 appeared", "2 launches removed", "model.py:41", "size mismatch at model.py:50"):
            assert shows(app, words), screen(app)


async def test_a_range_is_not_compared_with_the_step(run: Path) -> None:
    async with forms(run) as (app, pilot):
        whole = [line for line in screen(app) if " eager " in line]
        app.on_ranged(Ranged((0, 500_000)))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert shows(app, "Predictions of a range are not those of a step")
        assert not any(" %" in line for line in screen(app) if " both " in line)
        await pressed(pilot, "V")
        assert not shows(app, "Predictions of a range")
        assert [line for line in screen(app) if " eager " in line] == whole


async def test_facts_that_are_still_read_say_so(run: Path) -> None:
    found = read_run(run)
    assert found is not None
    rows = [text(line) for line in page(found, {}, {"both"}, None, "eager", 120)]
    assert [line.split()[0] for line in rows if "loading" in line] == ["both"]


async def test_a_kernel_is_marked_in_all_steps_and_leads_into_both_timelines(run: Path) -> None:
    async with forms(run) as (app, pilot):
        view = app.switcher.query_one(FormsView)
        await pressed(pilot, "down", "down", "down", "down")
        assert view.changed == "triton_poi_fused_relu_add_0"
        lanes = app.query_one("#forms LaneView", LaneView).state
        assert {lanes.lanes[number].title for number in lanes.found} == {"both stream 7"}
        await pressed(pilot, "left_square_bracket")
        assert shows(app, "Eager does not run this kernel.")
        await pressed(pilot, "right_square_bracket")
        await settled(app, pilot)
        assert app.switcher.query_one(TimelineView).selected_name == "triton_poi_fused_relu_add_0"
        assert shows(app, "both.pt.trace.json.gz")
        await pressed(pilot, "F", "up", "left_square_bracket")
        await settled(app, pilot)
        assert "add_kernel" in app.switcher.query_one(TimelineView).selected_name
        assert shows(app, "eager.pt.trace.json.gz")


async def test_the_steps_zoom_together(run: Path) -> None:
    async with forms(run) as (app, pilot):
        state = app.query_one("#forms LaneView", LaneView).state
        whole = state.view
        await pressed(pilot, "w", "d")
        assert state.view.span == whole.span // 2
        await pressed(pilot, "0")
        assert state.view == whole


async def test_the_overview_says_what_was_measured(run: Path) -> None:
    async with forms(run) as (app, pilot):
        await pressed(pilot, "1")
        assert shows(app, "measured")
        assert shows(app, "cannot run")
        assert app.session is not None
        assert app.session.document["forms"]["eager"]["step_ms"] == 0.9


async def test_a_run_without_traces_shows_what_it_measured(run: Path) -> None:
    for trace in run.glob("*.gz"):
        trace.unlink()
    async with forms(run) as (app, pilot):
        assert shows(app, "0.190-0.21")
        await pressed(pilot, "1")
        assert shows(app, "the run has no usable trace")
        await pressed(pilot, "2", "3", "9", "8")
        assert app.view == "advice"


async def test_a_run_can_be_picked_from_a_directory(run: Path) -> None:
    assert _traces_in(str(run.parent)) == [run]
    app = TraceLens(None, place=Place(), files=[run, run], folder=str(run.parent))
    async with app.run_test(size=(120, 40)) as pilot:
        assert shows(app, "run")
        await pressed(pilot, "enter")
        await settled(app, pilot)
        await pressed(pilot, "F")
        await settled(app, pilot)
        assert shows(app, "Forms of the same step")
        assert shows(app, "0.190-0.21")


async def test_the_view_asked_for_is_that_of_the_run_picked(run: Path) -> None:
    app = TraceLens(None, place=Place("forms"), files=[run, run], folder=str(run.parent))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await settled(app, pilot)
        assert app.view == "forms"
        assert shows(app, "Forms of the same step")


async def copied(app: TraceLens, pilot: Pilot[int]) -> str:
    await pilot.press("Y")
    await pilot.pause()
    assert shows(app, "Copied the command")
    return clipboard.fallback(os.environ).read_text()


async def test_the_command_copied_opens_what_is_open(run: Path) -> None:
    async with forms(run) as (app, pilot):
        assert await copied(app, pilot) == f"tracelens {run} --view forms"
        await pressed(pilot, "1")
        assert await copied(app, pilot) == f"tracelens {run} --view overview"
        await pressed(pilot, "G")
        assert (await copied(app, pilot)).startswith(f"tracelens {run} --view timeline --select g-")
        await pressed(pilot, "F", "down", "down", "enter")
        await settled(app, pilot)
        assert await copied(app, pilot) == f"tracelens {run / 'both.pt.trace.json.gz'} --view overview"
        await pressed(pilot, "F", "up", "up", "enter")
        await settled(app, pilot)
        assert await copied(app, pilot) == f"tracelens {run} --view overview"


async def test_a_form_that_nothing_is_known_of_is_unknown(tmp_path: Path) -> None:
    async with opened(replayed().write(tmp_path / "replay.json")) as (app, _):
        assert app.session is not None
        assert not app.session.document["forms"]["eager"]["blockers"]
        assert shows(app, "unknown")
        assert not shows(app, "cannot run")


def test_a_directory_lists_traces_without_manifests(run: Path) -> None:
    assert [path.name for path in _traces_in(str(run))] == ["both.pt.trace.json.gz", "eager.pt.trace.json.gz"]
    assert _traces_in(str(run / "run.json")) == []


SAMPLES = sorted((Path(__file__).parent.parent.parent / "sample_traces").glob("*/run.json"))


@pytest.mark.parametrize("manifest", SAMPLES, ids=lambda path: path.parent.name)
async def test_recorded_runs_lie_side_by_side(manifest: Path) -> None:
    async with forms(manifest.parent, size=(200, 50)) as (app, pilot):
        run = read_run(manifest.parent)
        assert run is not None
        steps = app.query_one("#forms LaneView", LaneView).state
        streams = {lane.title.partition(" stream")[0] for lane in steps.lanes if lane.kind == LaneKind.STREAM}
        assert streams == set(run.traces)
        assert all(int(lane.start[0]) >= 0 for lane in steps.lanes if lane.kind == LaneKind.STREAM)
        first, *_, last = run.traces
        await pressed(pilot, *["down"] * list(run.forms).index(last))
        assert shows(app, f"Kernels, {first} to {last}"), screen(app)
        await pressed(pilot, "down")
        name = app.switcher.query_one(FormsView).changed
        assert (name is None) == shows(app, "0 vanished, 0 appeared, 0 changed")
        await pressed(pilot, "enter")
        await settled(app, pilot)
        if name is not None:
            assert app.switcher.query_one(TimelineView).selected_name == name


def test_exports_of_runs_are_named_after_the_run(tmp_path: Path) -> None:
    traces = [tmp_path / name / "eager.pt.trace.json.gz" for name in ("first", "second")]
    names = [default_name(str(trace), ".report.md", trace.parent) for trace in traces]
    assert names == ["first.eager.report.md", "second.eager.report.md"]
