"""The app, driven by keys: what each leads to."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.screens import eager_steps, opened, screen, settled, shows
from tracelens.tui import clipboard
from tracelens.tui.app import TraceLens
from tracelens.tui.links import Place, Portion
from tracelens.tui.opening import Opening
from tracelens.tui.rows import text
from tracelens.tui.search import Query
from tracelens.tui.targets import Filtered
from tracelens.tui.views.messages import Ranged
from tracelens.tui.views.overview import OverviewView
from tracelens.tui.views.timeline import TimelineView


def timeline(app: TraceLens) -> TimelineView:
    return app.switcher.query_one(TimelineView)


async def typed(pilot: Pilot[int], text: str) -> None:
    await pilot.press(*text, "enter")
    await pilot.pause()


async def test_the_first_screen_answers(eager: Path) -> None:
    async with opened(eager) as (app, _):
        for words in ("Four ways to run the step", "eager", "replay", "Where the step goes", "dispatch", "Trust: "):
            assert shows(app, words)
        assert shows(app, "What costs most")


async def test_a_cost_leads_to_its_place_in_the_timeline(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("z")
        await pilot.pause()
        assert app.view == "timeline"
        assert shows(app, "gap g-")


async def test_keys_typed_faster_than_they_are_done_reach_what_they_are_for(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        for key, letter in (("4", "4"), ("slash", "/"), *((letter, letter) for letter in "relu"), ("enter", None)):
            app.post_message(events.Key(key, letter))
        await pilot.pause()
        await pilot.pause()
        assert app.tables is not None
        assert app.tables.grid.table.found == Query.parse("relu")
        assert not app.tables.grid.table.sorted_by


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


async def test_lanes_can_be_chosen_by_title(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("2", "t")
        await typed(pilot, "stream")
        assert [lane.title for lane in timeline(app).state.lanes] == ["GPU 0 stream 7"]
        await pilot.press("T", "P")
        assert shows(app, "Python")


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


async def test_a_jump_shows_all_of_what_it_leads_to(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("G", *["w"] * 12, "5", "end", "home", "enter")
        await pilot.pause()
        state = timeline(app).state
        assert state.span is not None
        assert state.view.start < state.span[0] < state.span[1] < state.view.end


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


async def test_the_advice_leads_to_its_evidence(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("8")
        assert shows(app, "Findings, by saving")
        await pilot.press("enter")
        await pilot.pause()
        assert app.view == "timeline"


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


async def test_a_table_is_copied_as_markdown(eager: Path) -> None:
    async with opened(eager, place=Place("kernels")) as (app, pilot):
        await pilot.press("M")
        assert shows(app, "Copied the table's first 3 rows")
    copied = clipboard.fallback(os.environ).read_text().splitlines()
    assert copied[0].startswith("| share | total |")
    assert len(copied) == 5


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


async def test_syncs_begin_with_what_saves_most(tmp_path: Path) -> None:
    builder = eager_steps()
    builder.sync(start=610, dur=85)
    async with opened(builder.write(tmp_path / "syncs.json"), place=Place("syncs")) as (app, _):
        assert app.tables is not None
        assert app.session is not None
        table, rows = app.tables.grid.table, app.session.report.document["tables"]["syncs"]
        assert [table.columns[0].cell(row) for row in table.order] == [row["handle"] for row in rows]
