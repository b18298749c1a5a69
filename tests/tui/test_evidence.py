"""What numbers, rows and advice lead to."""

from __future__ import annotations

from pathlib import Path

from tests.tui.screens import eager_steps, opened, shows, timeline
from tracelens.tui.links import Place
from tracelens.tui.targets import Filtered
from tracelens.tui.views.overview import OverviewView


async def test_a_cost_leads_to_its_place_in_the_timeline(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("z")
        await pilot.pause()
        assert app.view == "timeline"
        assert shows(app, "gap g-")


async def test_a_row_leads_to_its_event_and_to_the_events_behind_it(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("3", "x")
        assert shows(app, "events of")
        await pilot.press("x")
        assert not shows(app, "events of")
        await pilot.press("enter")
        await pilot.pause()
        assert app.view == "timeline"
        assert "add_kernel" in timeline(app).selected_name


async def test_a_jump_shows_all_of_what_it_leads_to(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("G", *["w"] * 12, "5", "end", "home", "enter")
        await pilot.pause()
        state = timeline(app).state
        assert state.span is not None
        assert state.view.start < state.span[0] < state.span[1] < state.view.end


async def test_the_advice_leads_to_its_evidence(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("8")
        assert shows(app, "Findings, by saving")
        await pilot.press("enter")
        await pilot.pause()
        assert app.view == "timeline"


async def test_every_number_of_the_overview_leads_to_its_evidence(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        page = app.switcher.query_one(OverviewView)
        await pilot.press(*["down"] * 40)
        assert page.link == Filtered("gaps", r"\bsync\.")
        await pilot.press("right")
        assert page.link == Filtered("gaps", r"\bsync\.wait")
        await pilot.press("enter")
        await pilot.pause()
        assert app.view == "gaps"
        assert shows(app, "1 of 3  filter")
        assert shows(app, "of 9 rows")


async def test_the_checks_of_the_trust_can_be_read(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("t")
        await pilot.pause()
        for words in ("device_events", "bound", "100.0 % of device events have a launch record"):
            assert shows(app, words)


async def test_findings_are_a_table_that_leads_to_the_evidence(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("9")
        assert shows(app, "host_bound_dispatch")
        await pilot.press("x")
        assert shows(app, "evidence of: ")
        await pilot.press("x", "enter")
        await pilot.pause()
        assert app.session is not None
        assert app.here().select == app.session.document["findings"][0]["evidence"][0]


async def test_the_selection_is_shared_by_the_views(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("G")
        await pilot.pause()
        chosen = app.here().select
        await pilot.press("5")
        assert app.here().select == chosen
        await pilot.press("home", "down", "enter")
        await pilot.pause()
        assert app.here().select != chosen


async def test_syncs_begin_with_what_saves_most(tmp_path: Path) -> None:
    builder = eager_steps()
    builder.sync(start=610, dur=85)
    async with opened(builder.write(tmp_path / "syncs.json"), place=Place("syncs")) as (app, _):
        assert app.tables is not None
        assert app.session is not None
        table, rows = app.tables.grid.table, app.session.report.document["tables"]["syncs"]
        assert [table.columns[0].cell(row) for row in table.order] == [row["handle"] for row in rows]
