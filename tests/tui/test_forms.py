"""A run directory: forms side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.build import TraceBuilder
from tests.tui.screens import eager_steps, screen, settled, shows
from tracelens.analysis import analyze
from tracelens.errors import UnreadableError
from tracelens.loading.runs import Run, read_run
from tracelens.tui import _traces_in
from tracelens.tui.app import TraceLens
from tracelens.tui.links import Place
from tracelens.tui.opening import Opening
from tracelens.tui.runs import changes, step_facts


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
    before, after = (step_facts(analyze(builder.trace())) for builder in (eager_steps(), replayed()))
    found = {one.name: one.kind for one in changes(before, after)}
    assert found == {
        "triton_poi_fused_relu_add_0": "appeared",
        "void at::native::add_kernel<float>(int)": "vanished",
        "void at::native::relu_kernel<float>(int)": "vanished",
    }
    assert (before.launches, after.launches) == (3, 1)
    assert (before.device_ns, after.device_ns) == (130_000, 90_000)


async def test_forms_lie_side_by_side(run: Path) -> None:
    found = read_run(run)
    assert isinstance(found, Run)
    opening = Opening(str(found.first_trace()))
    app = TraceLens(opening, place=Place(), run=found)
    opening.start()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        await pilot.press("9")
        await settled(app, pilot)
        for words in ("0.190-0.21", "torch.compile failed", "One traced step"):
            assert shows(app, words), screen(app)
        await pilot.press("down", "down")
        for words in ("1 appeared", "2 launches removed", "model.py:41", "size mismatch at model.py:50"):
            assert shows(app, words)
        await pilot.press("enter")
        await settled(app, pilot)
        assert shows(app, "both.pt.trace.json.gz")
        await pilot.press("2", "9")
        assert shows(app, "Forms of the same step")


def test_a_directory_lists_traces_without_manifests(run: Path) -> None:
    assert [path.name for path in _traces_in(str(run))] == ["both.pt.trace.json.gz", "eager.pt.trace.json.gz"]
    assert _traces_in(str(run / "run.json")) == []
