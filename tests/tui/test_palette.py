"""The command palette: only what can be done now, and ways to kernels and times."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandList, Hit

from tests.tui.screens import opened, shows
from tracelens.tui.actions import ACTIONS, Situation, find, offered, scopes_of
from tracelens.tui.app import TraceLens
from tracelens.tui.links import VIEWS
from tracelens.tui.palette import Commands
from tracelens.tui.shell import Palette
from tracelens.tui.views.timeline import TimelineView


@pytest.mark.parametrize("view", VIEWS)
def test_only_valid_commands_of_the_view_are_offered(view: str) -> None:
    for situation in (Situation(), Situation(loaded=True), Situation(loaded=True, events=True, run=True)):
        ids = [action.id for action in offered(view, situation)]
        scopes = {"everywhere", *scopes_of(view)}
        assert sorted(ids) == sorted(a.id for a in ACTIONS if a.scope in scopes and a.valid(situation))


def test_nothing_of_a_view_is_offered_before_a_trace_is_open() -> None:
    assert [action.id for action in offered("", Situation())] == ["toggle_dark", "help", "command_palette", "quit"]


async def hits(app: TraceLens, query: str) -> list[Hit]:
    provider = Commands(app.screen)
    return [hit async for hit in provider.search(query) if isinstance(hit, Hit)]


async def discovered(app: TraceLens) -> list[str]:
    return [str(hit.display) async for hit in Commands(app.screen).discover()]


async def test_every_command_on_offer_is_valid_now(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        before = await discovered(app)
        assert f"{find('cost_1').title}  (z)" in before
        assert not any("side by side" in title or "Zoom" in title for title in before)
        await pilot.press("G")
        after = await discovered(app)
        assert any(title.startswith("Follow:") for title in after)
        assert not any("largest cost" in title for title in after)


async def test_a_command_is_done_in_its_view(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2")
        timeline = app.switcher.query_one(TimelineView)
        span = timeline.state.view.span
        await app.run_registered(find("zoom_in"))
        assert timeline.state.view.span == span // 2


async def test_times_and_kernels_can_be_gone_to(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2")
        assert [str(hit.match_display) for hit in await hits(app, "go to 1.5ms")][-1] == "Go to 1.50 ms"
        await app.go_to(1_500_000)
        await pilot.pause()
        assert shows(app, "annotation 990 us at 1.00 ms")
        kernels = [hit for hit in await hits(app, "kernel relu") if str(hit.match_display).startswith("Kernel")]
        assert len(kernels) == 1
        kernels[0].command()
        await pilot.pause()
        assert "relu_kernel" in app.switcher.query_one(TimelineView).selected_name
        assert await hits(app, "no such thing at all") == []


async def test_a_handle_can_be_gone_to(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        (hit,) = [hit for hit in await hits(app, "s-2") if str(hit.match_display) == "Go to s-2"]
        hit.command()
        await pilot.pause()
        assert app.here().select == "s-2"
        assert not [hit for hit in await hits(app, "s-999") if str(hit.match_display).startswith("Go to")]


async def test_a_palette_without_room_for_a_line_can_be_paged(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("ctrl+p")
        await pilot.pause()
        commands = app.screen.query_one(CommandList)
        commands.display = False
        await pilot.pause()
        commands.clear_options().add_options(["one", "another"])
        commands.highlighted = 0
        await pilot.press("pagedown", "pageup")
        assert isinstance(app.screen, Palette)
        await pilot.press("escape", "2")
        assert app.view == "timeline"
