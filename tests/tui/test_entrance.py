"""What can be opened, and what a trace, a directory, a bad file or a small terminal shows first."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.build import TraceBuilder
from tests.tui.screens import eager_steps, opened, screen, settled, shows
from tracelens.tui import _traces_in, desk
from tracelens.tui.app import TraceLens
from tracelens.tui.entrance import TICK_S
from tracelens.tui.links import Place
from tracelens.tui.opening import GLIMPSE_S, Opening


async def test_a_trace_has_no_forms_and_says_so(eager: Path) -> None:
    said = "One trace only, so no forms to compare; open a run directory to see them."
    async with opened(eager, place=Place("forms")) as (app, pilot):
        assert app.view == "overview"
        assert shows(app, "What costs most")
        assert shows(app, said)
        await pilot.press("2")
        assert not shows(app, said)
        await pilot.press("F")
        await pilot.pause()
        assert shows(app, said)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("none.json", None, "cannot be read"), ("empty.json", "", ""), ("words.json", "hello", "")],
)
async def test_a_bad_file_is_refused_readably(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    async with opened(path) as (app, pilot):
        assert shows(app, "This cannot be opened")
        assert shows(app, name)
        assert shows(app, said)
        await pilot.press("q")
    assert app.return_code == 3


async def test_a_trace_without_device_work_opens(tmp_path: Path) -> None:
    path = TraceBuilder().op("aten::mm", start=0, dur=10).write(tmp_path / "host.json")
    async with opened(path) as (app, pilot):
        for key in ("2", "3", "4", "5", "6", "7", "8", "1", "g", "G"):
            await pilot.press(key)
        await pilot.pause()
        assert app.view == "overview"
        assert shows(app, "There is no gap to go to")


@pytest.mark.parametrize("size", [(1, 1), (16, 5), (34, 40), (59, 24), (80, 15)])
async def test_a_small_terminal_is_told_what_is_needed(eager: Path, size: tuple[int, int]) -> None:
    async with opened(eager, size=size) as (app, pilot):
        told = "".join(screen(app)).replace(" ", "")
        assert told.startswith("tracelensneedsaterminalof60x16"[: size[0] - 1]) or size == (1, 1)
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert shows(app, "Overview")
        assert shows(app, "What costs most")
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert not shows(app, "Overview")
        assert size[0] * size[1] < 80 or shows(app, "60x16")


async def test_a_directory_offers_its_traces_one_after_the_other(tmp_path: Path) -> None:
    files = [eager_steps().write(tmp_path / f"{name}.json") for name in "ab"]
    app = TraceLens(None, place=Place(), files=files, folder=str(tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        assert shows(app, "2 traces and runs")
        await pilot.press("enter")
        await settled(app, pilot)
        assert shows(app, "a.json")
        for _ in range(2):
            await pilot.press("D")
            await pilot.pause()
            assert shows(app, "2 traces and runs")
        await pilot.press("down", "enter")
        await pilot.pause()
        await settled(app, pilot)
        assert app.session is not None
        assert app.session.path == str(files[1])


async def test_a_directory_offers_only_traces_and_leads_back(tmp_path: Path) -> None:
    eager_steps().write(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("nothing")
    (tmp_path / "times.json").write_text('{"a": 1.5}')
    files = _traces_in(str(tmp_path))
    assert [file.name for file in files] == ["a.json", "b.json"]
    app = TraceLens(None, place=Place(), files=files, folder=str(tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        assert shows(app, "a.json  NVIDIA H200")
        await pilot.press("escape", "down", "enter")
        await settled(app, pilot)
        assert shows(app, "Esc shows the others")
        await pilot.press("escape")
        await pilot.pause()
        assert shows(app, "2 traces and runs")
        await pilot.press("enter")
        await settled(app, pilot)
        await pilot.press("D")
        await pilot.pause()
        assert shows(app, "Esc goes back")
        await pilot.press("escape")
        await pilot.pause()
        assert app.view == "overview"
        assert shows(app, "What costs most")
        await pilot.press("q")
    assert app.return_code == 0


async def test_the_cursor_of_a_directory_stays_in_sight(tmp_path: Path) -> None:
    files = [eager_steps().write(tmp_path / f"trace{number:02}.json") for number in range(40)]
    app = TraceLens(None, place=Place(), files=files, folder=str(tmp_path))
    async with app.run_test(size=(80, 20)) as pilot:
        for key, name in (
            ("end", "trace39"),
            ("pageup", "trace23"),
            ("pageup", "trace07"),
            ("pagedown", "trace23"),
            ("home", "trace00"),
            ("down", "trace01"),
        ):
            await pilot.press(key)
            # To scroll is laid out before it is drawn.
            await pilot.pause()
            await pilot.pause()
            assert shows(app, f"▸ {name}.json")
        await pilot.press("end", "enter")
        await settled(app, pilot)
        assert app.session is not None
        assert app.session.path == str(files[39])


async def test_a_directory_is_searched_by_name(tmp_path: Path) -> None:
    for name in ("bert.json", "resnet.json", "bert_compiled.json"):
        eager_steps().write(tmp_path / name)
    app = TraceLens(None, place=Place(), files=_traces_in(str(tmp_path)), folder=str(tmp_path))
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.press("slash", *"resn", "enter")
        await pilot.pause()
        assert shows(app, "1 of 3 traces and runs match 'resn'")
        assert shows(app, "▸ resnet.json")
        assert not shows(app, "bert.json")
        await pilot.press("escape")
        await pilot.pause()
        assert shows(app, "▸ resnet.json")
        assert shows(app, "bert.json")
        await pilot.press("slash", *"nothing", "enter", "enter")
        await pilot.pause()
        assert shows(app, "0 of 3 traces and runs")


async def test_a_directory_offers_no_key_that_does_nothing(tmp_path: Path, eager: Path) -> None:
    app = TraceLens(None, place=Place(), files=[eager, eager], folder=str(tmp_path))
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.press("enter")
        await settled(app, pilot)
        await pilot.press("D")
        await pilot.pause()
        assert " ".join(screen(app)[-1].split()) == "enter open / search ? help ctrl+p commands q quit"
        await pilot.press("g", "tab", "n")
        await pilot.pause()
        assert app.picker is not None
        await pilot.press("question_mark")
        await pilot.pause()
        assert shows(app, "Directory")
        assert shows(app, "Open the trace or run")


class Slow(Opening):
    """Reads until it is told to stop."""

    def run(self) -> None:
        while not self.cancelled:
            time.sleep(0.005)
        super().run()


async def test_another_trace_can_be_chosen_while_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [eager_steps().write(tmp_path / f"{name}.json") for name in "ab"]
    app = TraceLens(None, place=Place(), files=files, folder=str(tmp_path))
    async with app.run_test(size=(100, 30)) as pilot:
        monkeypatch.setattr(desk, "Opening", Slow)
        await pilot.press("enter")
        await pilot.pause()
        monkeypatch.undo()
        await pilot.press("D")
        # Longer than a trace is read before its progress is shown.
        await pilot.pause(GLIMPSE_S + 2 * TICK_S)
        assert shows(app, "2 traces and runs")
        assert app.session is None
        await pilot.press("down", "enter")
        await settled(app, pilot)
        assert app.session is not None
        assert app.session.path == str(files[1])


async def test_what_is_made_of_a_trace_that_was_left_is_not_shown(tmp_path: Path, eager: Path) -> None:
    async with opened(eager_steps().kernel("other", start=9_000.0, dur=5).write(tmp_path / "a.json")) as (left, _):
        former, atlas = left.session, left.atlas
    async with opened(eager) as (app, pilot):
        session, own = app.session, app.atlas
        assert former is not None
        assert atlas is not None
        app.post_message(app.AtlasMade(atlas))
        app.post_message(app.Judged(former))
        await pilot.pause()
        assert app.atlas is own
        assert app.session is session


async def test_without_a_directory_there_is_nothing_to_choose(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("D")
        await pilot.pause()
        assert shows(app, "No directory of traces was opened")
        assert app.view == "overview"
