"""Search, filter and range: what each leaves in view, and what gives it up."""

from __future__ import annotations

from pathlib import Path

from tests.tui.screens import opened, settled, shows, timeline, typed
from tracelens.tui.links import Place, Portion
from tracelens.tui.views.messages import Ranged


async def test_a_range_recomputes_every_table_until_it_is_given_up(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2", "down", "right", "v")
        await settled(app, pilot)
        await pilot.press("v")
        await settled(app, pilot)
        assert app.session is not None
        assert app.session.document["window"]["kind"] == "range"
        await pilot.press("3")
        assert shows(app, "of the range")
        await pilot.press("V")
        await settled(app, pilot)
        assert app.session.document["window"]["kind"] == "profiler_step"
        assert not shows(app, "of the range")


async def test_search_marks_and_walks(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2", "slash")
        await typed(pilot, "relu")
        assert shows(app, "8 for 'relu'")
        names = [timeline(app).selected_name]
        for _ in range(2):
            await pilot.press("n")
            names.append(timeline(app).selected_name)
        assert all("relu" in name for name in names)
        await pilot.press("slash")
        await typed(pilot, "(")
        assert shows(app, "is no regular expression")


async def test_filter_leaves_what_matches_and_escape_clears_it(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("4")
        assert shows(app, "aten::add ")
        await pilot.press("backslash")
        await typed(pilot, "relu")
        assert shows(app, "aten::relu")
        assert not shows(app, "aten::linear")
        await pilot.press("escape")
        assert shows(app, "aten::linear")


async def test_filter_and_search_outlive_a_change_of_range(eager: Path) -> None:
    async with opened(eager, place=Place("kernels")) as (app, pilot):
        await pilot.press("backslash")
        await typed(pilot, "relu|nvjet")
        await pilot.press("slash")
        await typed(pilot, "nvjet")
        await pilot.press("r", "2", "down", "down", "right", "v", "v")
        await settled(app, pilot)
        assert app.session is not None
        assert app.session.portion.stretch is not None
        await pilot.press("3")
        assert shows(app, "filter 'relu|nvjet'")
        assert shows(app, "search 'nvjet'")
        assert shows(app, "total▴")
        assert not shows(app, "add_kernel")


async def test_a_filter_counts_what_it_is_for(eager: Path) -> None:
    async with opened(eager, place=Place("timeline")) as (app, pilot):
        await pilot.press("backslash")
        await typed(pilot, "zzzz")
        assert shows(app, "Nothing for 'zzzz'.")
        await pilot.press("backslash")
        await typed(pilot, "relu_kernel")
        assert shows(app, "4 for 'relu_kernel'")


async def test_esc_on_the_overview_clears_the_range(eager: Path) -> None:
    async with opened(eager, place=Place("timeline", portion=Portion(range=(1_000_000, 3_000_000)))) as (app, pilot):
        app.on_ranged(Ranged((1_000_000, 2_000_000)))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.situation.ranged
        await pilot.press("1", "escape")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert not app.situation.ranged
        assert shows(app, "Judged the whole window.")
