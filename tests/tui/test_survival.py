"""Whatever a terminal sends, the app lives; and a defect of ours is told of in a line, never as a success."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.driver import Driver
from textual.events import Resize
from textual.geometry import Size
from textual.widget import MountError
from textual.widgets import Input

from tests.tui.screens import opened, settled
from tracelens.cli import view
from tracelens.cli.main import main
from tracelens.tui.app import TraceLens
from tracelens.tui.leaving import LeftOnce
from tracelens.tui.links import Place
from tracelens.tui.opening import Opening
from tracelens.tui.selection import Selection
from tracelens.tui.terminal import lenient
from tracelens.tui.views.table import TablesView
from tracelens.tui.widgets.table import TableView

PATIENCE_S = 30.0
ODD_INPUT = {
    "no text": b"\xff\xfe",
    "half a letter": b"\xc3",
    "Latin-1": b"\xe9\xe8",
    "an old report of the mouse": b"\x1b[M \xa0\xa0",
    "a report from nowhere": b"\x1b[<99999999999;99999999999;0M",
    "a key beyond all keys": b"\x1b[1114112u",
    "a size without pixels": b"\x1b[48;40;120;0;0t",
    "a paste of Latin-1": b"\x1b[200~caf\xe9\x1b[201~",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux opens pseudo terminals in this way")
def test_odd_input_does_not_end_the_app(eager: Path) -> None:
    app = _App(eager)
    app.wait(b"What costs most")
    for sent in ODD_INPUT.values():
        app.send(sent + b"j")
        time.sleep(0.2)
    app.send(b"?")
    app.wait(b"Esc leaves")
    app.send(b"qq")
    assert app.exit_code() == 0
    assert b"Error" not in app.seen


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux opens pseudo terminals in this way")
def test_a_window_that_is_dragged_while_the_app_starts_does_not_keep_it_from_drawing_or_ending(eager: Path) -> None:
    app = _App(eager)
    app.wait(b"?1049h")
    for rows, columns in ((10, 200), (5, 10), (100, 200), (100, 60), (3, 10), (40, 1), (2, 5), (1, 1)):
        app.resize(rows, columns)
        time.sleep(0.03)
    app.resize(40, 120)
    app.wait(b"What costs most")
    app.send(b"\x03")
    assert app.exit_code() == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux opens pseudo terminals in this way")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_that_comes_while_the_terminal_is_taken_gives_it_back(eager: Path, ending: signal.Signals) -> None:
    app = _App(eager)
    app.wait(b"?1049h")
    app.signal(ending)
    assert app.exit_code() == 130
    assert b"?1049l" in app.seen
    assert app.seen.rstrip().endswith(b"tracelens: interrupted")


async def test_a_view_can_be_asked_before_and_after_its_parts_are_there(
    eager: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def composed(tables: TablesView) -> ComposeResult:
        # As a dialog or the palette does, which ask in tasks of their own.
        asked.append((app.situation.aggregate, app.selection, tables.selection, tables.row_text))
        return compose(tables)

    asked: list[object] = []
    compose = TablesView.compose
    monkeypatch.setattr(TablesView, "compose", composed)
    async with opened(eager) as (app, pilot):
        await pilot.press("3")
        await pilot.pause()
        assert asked == [(False, Selection(), Selection(), "")]
        tables = app.tables
        assert tables is not None
        selected = tables.selection
        await tables.query("*").remove()
        assert app.tables is tables
        assert app.situation.aggregate
        assert app.selection == selected


class _App:
    """The program on a pseudo terminal of its own."""

    def __init__(self, path: Path) -> None:
        self.seen = b""
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            os.execv(sys.executable, [sys.executable, "-m", "tracelens", str(path)])
        self.resize(40, 120)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._pid, number)

    def wait(self, words: bytes) -> None:
        """Read until some words were drawn."""
        end = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            assert self._read(), self.seen[-2000:]
            assert time.monotonic() < end, self.seen[-2000:]

    def exit_code(self) -> int:
        """Read to the end of the program."""
        while self._read():
            pass
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        """Whether there was more to read."""
        if not select.select([self._terminal], [], [], PATIENCE_S)[0]:
            os.kill(self._pid, signal.SIGKILL)
            pytest.fail(f"nothing was drawn for {PATIENCE_S} s")
        try:
            more = os.read(self._terminal, 65536)
        except OSError:
            # What Linux says once the other end is closed.
            return False
        self.seen += more
        return bool(more)


@pytest.mark.parametrize("overlay", ["ctrl+p", "e", "slash"])
async def test_a_terminal_that_is_too_small_takes_no_key_but_q(eager: Path, overlay: str) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("3", overlay)
        await pilot.pause()
        for size in ((59, 40), (1, 15)):
            await pilot.resize_terminal(*size)
            await pilot.press("pagedown", "enter", "2", "ctrl+p", "pagedown", "G")
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert app.view == "kernels"
        await pilot.press("escape", "escape", "2")
        await pilot.pause()
        assert app.view == "timeline"
        await pilot.resize_terminal(20, 5)
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize("overlay", ["", "e", "question_mark", "ctrl+p"])
async def test_sizes_that_wait_while_nothing_is_drawn_do_not_follow_each_other_for_ever(
    eager: Path, overlay: str
) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press(*filter(None, [overlay]))
        await pilot.pause()
        with app.batch_update():
            for size in (Size(200, 20), app.size):
                app.screen.post_message(Resize(size, size))
                app.screen.call_later(lambda: None)
            await asyncio.sleep(0.1)
        await pilot.resize_terminal(100, 30)
        await pilot.press("escape", "3")
        await pilot.pause()
        assert app.view == "kernels"
        assert app.screen.size == (100, 30)


@pytest.mark.parametrize("overlay", ["e", "question_mark", "ctrl+p"])
async def test_what_is_left_twice_takes_nothing_else_with_it(eager: Path, overlay: str) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press(overlay)
        await pilot.pause()
        over = app.screen
        assert isinstance(over, LeftOnce)
        over.dismiss()
        over.dismiss()
        await pilot.pause()
        assert app.screen is not over
        await pilot.press("3")
        await pilot.pause()
        assert app.view == "kernels"


@pytest.mark.parametrize("message", [TableView.Chosen, TableView.Expanded])
async def test_a_row_that_was_chosen_in_another_table_leads_nowhere(
    eager: Path, message: type[TableView.Chosen | TableView.Expanded]
) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("7")
        await pilot.pause()
        tables = app.tables
        assert tables is not None
        former, last = tables.grid.table, len(tables.grid.table) - 1
        await pilot.press("9")
        await pilot.pause()
        assert len(tables.grid.table) <= last
        tables.grid.post_message(message(former, last))
        await pilot.pause()
        assert app.view == "findings"


async def test_what_is_typed_while_the_palette_is_being_left_is_no_defect(eager: Path) -> None:
    async with opened(eager) as (app, pilot):
        await pilot.press("ctrl+p")
        await pilot.pause()
        palette, line = app.screen, app.screen.query_one(Input)
        await palette.query("*").remove()
        for typed in ("gap", ""):
            palette.post_message(Input.Changed(line, typed))
            await pilot.pause()
        palette.dismiss()
        await pilot.pause()
        await pilot.press("3")
        await pilot.pause()
        assert app.view == "kernels"


async def test_a_line_that_is_left_before_anything_is_open_leads_nowhere(eager: Path) -> None:
    opening = Opening(str(eager))
    app = TraceLens(opening, place=Place())
    async with app.run_test(size=(120, 40)) as pilot:
        app.prompt.ask("search", "search")
        await pilot.press("escape")
        await pilot.pause()
        opening.start()
        await settled(app, pilot)
        assert app.view == "overview"


async def test_a_defect_is_kept_for_the_command_line(eager: Path) -> None:
    async def fail() -> None:
        async with opened(eager) as (app, pilot):
            apps.append(app)
            app.call_later(lambda: 1 // 0)
            await pilot.pause()

    apps: list[TraceLens] = []
    with pytest.raises(ZeroDivisionError):
        await fail()
    (app,) = apps
    assert isinstance(app.defect, ZeroDivisionError)
    assert app.return_value is None


async def test_what_comes_after_the_end_is_no_defect(eager: Path) -> None:
    async def fail() -> None:
        async with opened(eager) as (app, _):
            apps.append(app)
            app.exit(0)
            await app.show("timeline")

    apps: list[TraceLens] = []
    with pytest.raises(MountError):
        await fail()
    (app,) = apps
    assert app.defect is None
    assert app.return_value == 0


def test_a_defect_is_no_success(
    eager: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(app: TraceLens, *, mouse: bool) -> None:
        app.defect = ZeroDivisionError("by zero")

    monkeypatch.setattr(TraceLens, "run", fail)
    monkeypatch.setattr(view, "has_screen", lambda: True)
    assert main(["view", str(eager)]) == 3
    told = capsys.readouterr().err
    assert "internal error" in told
    assert "ZeroDivisionError" in told


def test_drivers_that_decode_by_themselves_stay_as_they_are() -> None:
    assert lenient(Driver) is Driver
