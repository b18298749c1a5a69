"""The timeline, driven by keys and the mouse: gaps, zoom, lanes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.screens import eager_steps, opened, settled, shows, timeline, typed
from tracelens.tui.app import TraceLens
from tracelens.tui.links import Place
from tracelens.tui.opening import Opening


async def test_the_worst_gap_names_its_cause_and_leads_to_its_launch(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("G")
        await pilot.pause()
        assert timeline(app).selected_name == "dispatch.python"
        assert shows(app, "filled by")
        assert shows(app, "model.py:41")
        await pilot.press("left_square_bracket")
        assert timeline(app).selected_name == "cudaLaunchKernel"
        await pilot.press("right_square_bracket")
        assert "kernel" in timeline(app).selected_name
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert timeline(app).selected_name.startswith("aten::")


async def test_the_worst_gap_is_the_first_of_the_table(tmp_path: Path) -> None:
    builder = eager_steps().launch("gemm", start=90_000, dur=10, at=90_020, runs=10)
    async with opened(builder.write(tmp_path / "late.json")) as (app, pilot):
        await pilot.press("5")
        first = app.here().select
        await pilot.press("1", "G")
        await pilot.pause()
        assert app.here().select == first
        assert timeline(app).state.gaps is not None
        handles = set()
        for _ in range(len(timeline(app).state.gaps.lane)):
            handles.add(app.here().select)
            assert timeline(app).state.span is not None
            length = timeline(app).state.span[1] - timeline(app).state.span[0]
            await pilot.press("G")
        assert app.here().select == first
        assert len(handles) == len(timeline(app).state.gaps.lane)
        assert length < 80_000_000


async def test_the_way_by_length_begins_at_the_worst_gap_wherever_the_cursor_is(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("G")
        await pilot.pause()
        worst = app.here().select
        await pilot.press("g", "g", "G")
        await pilot.pause()
        assert app.here().select == worst
        await pilot.press("G")
        await pilot.pause()
        assert app.here().select != worst


@pytest.mark.parametrize("key", ["z", "G", "2", "5", "slash"])
async def test_keys_before_the_timeline_is_ready_are_not_lost(eager: Path, key: str) -> None:
    opening = Opening(str(eager))
    app = TraceLens(opening, place=Place())
    opening.run()
    async with app.run_test(size=(120, 40)) as pilot:
        while app.session is None:
            await asyncio.sleep(0.001)
        await pilot.press(key)
        await settled(app, pilot)
        await pilot.press("escape")
        assert app.view == {"5": "gaps", "slash": "overview"}.get(key, "timeline")


async def test_gaps_are_walked_forth_and_back(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        handles = []
        for key in ("g", "g", "b"):
            await pilot.press(key)
            await pilot.pause()
            handles.append(app.here().select)
        assert handles[0] == handles[2] != handles[1]


async def test_zoom_pan_fit_and_back(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2")
        view = timeline(app).state.view
        await pilot.press("w", "d")
        assert timeline(app).state.view.span == view.span // 2
        await pilot.press("backspace")
        assert timeline(app).state.view == view
        await pilot.press("w", "0")
        assert timeline(app).state.view == view


async def test_lanes_can_be_chosen_by_title(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2", "t")
        await typed(pilot, "stream")
        assert [lane.title for lane in timeline(app).state.lanes] == ["GPU 0 stream 7"]
        await pilot.press("T", "P")
        assert shows(app, "Python")


async def test_the_mouse_selects_and_drags(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2")
        await pilot.click("#lanes", offset=(60, 2))
        assert timeline(app).state.current is not None
        assert timeline(app).state.lane == 2
        await pilot.mouse_down("#lanes", offset=(40, 3))
        await pilot.hover("#lanes", offset=(80, 3))
        await pilot.mouse_up("#lanes", offset=(80, 3))
        await settled(app, pilot)
        assert app.session is not None
        assert app.session.portion.stretch is not None
