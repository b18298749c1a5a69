"""The app as a whole, driven by keys."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from textual import events

from tests.tui.screens import opened, screen, settled, shows
from tracelens.tui import clipboard
from tracelens.tui.links import Place
from tracelens.tui.rows import text
from tracelens.tui.search import Query
from tracelens.tui.views.overview import OverviewView


async def test_the_first_screen_answers(eager: Path) -> None:
    async with opened(eager) as (app, _):
        for words in ("Four ways to run the step", "eager", "replay", "Where the step goes", "dispatch", "Trust: "):
            assert shows(app, words)
        assert shows(app, "What costs most")


async def test_keys_typed_faster_than_they_are_done_reach_what_they_are_for(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        for key, letter in (("4", "4"), ("slash", "/"), *((letter, letter) for letter in "relu"), ("enter", None)):
            app.post_message(events.Key(key, letter))
        await pilot.pause()
        await pilot.pause()
        assert app.tables is not None
        assert app.tables.grid.table.found == Query.parse("relu")
        assert not app.tables.grid.table.sorted_by


async def test_details_show_the_arguments_of_the_file(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("4", "enter", "enter")
        await settled(app, pilot)
        assert shows(app, "Details")
        assert shows(app, "External id")
        await pilot.press("escape")
        assert not shows(app, "Details")


async def test_help_lists_the_keys_of_the_view(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2", "question_mark")
        assert shows(app, "Zoom in at the cursor")
        await pilot.press("q")
        assert app.view == "timeline"


async def test_export_writes_and_never_writes_over(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        for expected in ("Wrote eager.report.json", "exists already"):
            await pilot.press("e", "3")
            await pilot.pause()
            assert shows(app, "write to the file: eager.report.json")
            await pilot.press("enter")
            await settled(app, pilot)
            assert shows(app, expected), screen(app)
        await pilot.press("e", "9", "enter")
        await settled(app, pilot)
        assert shows(app, "Wrote eager.overview.svg")
    picture = Path("eager.overview.svg").read_text()
    assert picture.startswith("<svg")
    assert "Four" in picture
    assert json.loads(Path("eager.report.json").read_text())["schema_version"] == 1
    assert Path("eager.overview.svg").read_text().startswith("<svg")


async def test_copies_go_to_a_file_as_well(eager: Path, tmp_path: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("G")
        await pilot.pause()
        await pilot.press("Y")
        await pilot.pause()
        assert shows(app, "Copied the command")
    copied = (tmp_path / "state" / "tracelens" / "copied.txt").read_text()
    assert copied.startswith(f"tracelens {eager} --view timeline --select g-")


async def test_a_scroll_bar_hides_nothing(eager: Path) -> None:
    async with opened(eager, size=(80, 18)) as (app, _):
        page = app.switcher.query_one(OverviewView)
        assert page.show_vertical_scrollbar
        assert max(len(text(line)) for line in page.rows) == 79


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_help_and_quit_are_always_named(eager: Path, width: int) -> None:
    async with opened(eager.rename(eager.with_name(f"{'long' * 10}.json")), size=(width, 30)) as (app, pilot):
        await pilot.press("G", "v", "right", "v")
        await settled(app, pilot)
        for view in "123456789":
            await pilot.press(view)
            assert screen(app)[-1].endswith("  ? help  q quit"), screen(app)[-1]
            assert "…" in screen(app)[-1]


async def test_a_link_leads_back(eager: Path) -> None:
    async with opened(eager, place=Place("timeline", "g-3")) as (app, _):
        assert app.here().select == "g-3"
    async with opened(eager, place=Place("gaps")) as (app, _):
        assert app.view == "gaps"
    async with opened(eager, place=Place("overview", "g-99999")) as (app, _):
        assert shows(app, "g-99999")


async def test_the_palette_offers_only_what_is_valid(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("ctrl+p")
        await pilot.pause(0.3)
        assert shows(app, "Worst gap")
        assert not shows(app, "side by side")


async def test_themes_change(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2", "ctrl+t")
        assert app.theme == "tracelens-light"


async def test_a_table_is_copied_as_markdown(eager: Path) -> None:
    async with opened(eager, place=Place("kernels")) as (app, pilot):
        await pilot.press("M")
        assert shows(app, "Copied the table's first 3 rows")
    copied = clipboard.fallback(os.environ).read_text().splitlines()
    assert copied[0].startswith("| share | total |")
    assert len(copied) == 5
