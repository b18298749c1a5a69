"""Names from a trace never command the terminal, wherever the app shows them."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.color import Color
from textual.pilot import Pilot

from tests.build import TraceBuilder
from tests.tui.screens import opened, screen, settled, shows
from tracelens.tui import clipboard
from tracelens.tui.app import TraceLens
from tracelens.tui.export import default_name
from tracelens.tui.links import VIEWS, Place
from tracelens.tui.visible import VisibleText, visible

EVIL = "\x1b]0;PWNED\x07\x1b]52;c;cHduZWQ=\x07\x9b31m\x7f\u202e\u2028\u200b\t\r\n\x85[link='https://x']q"


OWN = re.compile(r"\x1b(\[[0-9;?>=<$ ]*[a-zA-Z]|\]22;\w+(\x07|\x1b\\)|P[+=$>0-9A-Za-z|]*\x1b\\)")
"""Sequences of the app itself; among those of the operating system the shape of the pointer alone."""


def evil(word: str) -> str:
    return f"{word}{EVIL}{word}"


def evil_steps() -> TraceBuilder:
    """Two steps in which every name holds control sequences."""
    builder = TraceBuilder().device_name(0, evil("gpu")).thread_name(1, evil("thread"))
    for number in range(2):
        at = 1000.0 * number
        builder.step(number, start=at, dur=990)
        builder.annotation(evil("part"), start=at + 1, dur=950)
        builder.python(evil("model.py(41): f"), start=at + 5, dur=900)
        builder.op(evil("aten::op"), start=at + 10, dur=200, shapes=[[8, 8]])
        builder.launch(evil("kernel"), start=at + 50, dur=10, at=at + 70, runs=40)
        builder.op(evil("aten::other"), start=at + 300, dur=200)
        builder.launch(evil("void kernel<float>"), start=at + 350, dur=10, at=at + 370, runs=130)
        builder.sync(start=at + 600, dur=20)
    args = {evil("key"): evil("value"), "stream": 7}
    event = {"ph": "X", "cat": "cpu_op", "name": evil("aten::args"), "ts": 1700.0, "dur": 200.0, "pid": 1, "tid": 1}
    return builder.raw({**event, "args": args})


def assert_harmless(app: TraceLens) -> None:
    assert [line for line in screen(app) if not line.isprintable()] == []


@pytest.fixture
def wicked(tmp_path: Path) -> Path:
    return evil_steps().write(tmp_path / f"{EVIL.replace('/', '')}.json")


@given(st.text(st.characters(), max_size=40))
def test_text_keeps_its_cells_and_becomes_printable(text: str) -> None:
    assert visible(text).isprintable()
    assert len(visible(text)) == len(text)
    assert visible(visible(text)) == visible(text)


@given(st.lists(st.text(st.characters(), max_size=20), max_size=4))
def test_a_line_never_grows(texts: list[str]) -> None:
    segments = [Segment(text) for text in texts]
    shown = VisibleText().apply(segments, Color(0, 0, 0))
    assert all(segment.text.isprintable() for segment in shown)
    assert Segment.get_line_length(shown) == Segment.get_line_length(segments)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_no_view_shows_a_control_character(wicked: Path, size: tuple[int, int]) -> None:
    async with opened(wicked, size=size) as (app, pilot):
        for number, view in enumerate(view for view in VIEWS if view != "forms"):
            await pilot.press(str(number + 1))
            assert app.view == view
            for key in ("down", "i", "escape"):
                await pressed(app, pilot, key)
                assert_harmless(app)
        for key in ("G", "left_square_bracket", "w", "i", "escape", "e", "9"):
            await pressed(app, pilot, key)
            assert_harmless(app)


@pytest.mark.parametrize("keys", [("2", "down", "down", "right", "y"), ("4", "y"), ("4", "M"), ("8", "c"), ("4", "Y")])
async def test_nothing_that_is_copied_commands_a_shell(wicked: Path, keys: tuple[str, ...]) -> None:
    async with opened(wicked) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert shows(app, "Copied")
    copied = clipboard.fallback(os.environ).read_text(encoding="utf-8")
    assert copied.replace("\t", "").replace("\n", "").isprintable()
    assert len(copied.splitlines()) == 1 or keys[-1] in "McY"


async def pressed(app: TraceLens, pilot: Pilot[int], key: str) -> None:
    await pilot.press(key)
    await app.workers.wait_for_complete()
    await pilot.pause()


async def test_no_dialog_shows_a_control_character(wicked: Path) -> None:
    async with opened(wicked, size=(120, 40), place=Place("timeline")) as (app, pilot):
        for query in ("kernel", "nothing\x1b]0;x\x07"):
            await pilot.press("slash")
            app.prompt.line.value = query
            assert_harmless(app)
            await pilot.press("enter")
            assert_harmless(app)
        await pilot.press("ctrl+p", *"kernel")
        await app.workers.wait_for_complete()
        await pilot.pause(0.5)
        assert_harmless(app)


async def test_a_refused_file_shows_no_control_character(tmp_path: Path) -> None:
    path = tmp_path / f"{EVIL.replace('/', '')}.json"
    path.write_text(f'{{"traceEvents": "{EVIL}"')
    async with opened(path) as (app, _):
        assert shows(app, "This cannot be opened")
        assert_harmless(app)


async def test_the_chooser_shows_no_control_character(tmp_path: Path) -> None:
    names = [EVIL.replace("/", ""), "plain", os.fsdecode(b"\xff\xfe")]
    files = [evil_steps().write(tmp_path / f"{name}.json") for name in names]
    app = TraceLens(None, place=Place(), files=files, folder=f"{tmp_path}{EVIL}")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert shows(app, "3 traces and runs")
        assert_harmless(app)


async def test_a_picture_is_xml_without_control_characters(wicked: Path) -> None:
    async with opened(wicked, place=Place("kernels")) as (app, pilot):
        await picture(pilot, app)
    (written,) = Path().glob("*.svg")
    text = written.read_text(encoding="utf-8")
    assert written.name.isprintable()
    assert text.replace("\n", "").replace("\xa0", "").replace("\t", "").isprintable()
    assert ElementTree.fromstring(text).tag.endswith("svg")


async def picture(pilot: Pilot[int], app: TraceLens) -> None:
    await pilot.press("e", "9", "enter")
    await settled(app, pilot)
    assert shows(app, "Wrote")


def test_a_file_is_never_named_by_control_characters() -> None:
    assert default_name(f"{EVIL.replace('/', '')}.json", ".svg").isprintable()


def test_what_the_program_sends_holds_its_own_sequences_alone(wicked: Path) -> None:
    sent = session(wicked, keys=["2", "G", "3", "4", "5", "6", "7", "8"])
    text = sent.decode("utf-8")
    assert "PWNED" in text
    left = OWN.sub("", text)
    assert sorted({char for char in left if not char.isprintable()} - {"\n", "\r"}) == []


def session(path: Path, keys: list[str]) -> bytes:
    """All that the program sends to a terminal while it is driven by keys."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    program = [sys.executable, "-m", "tracelens", str(path)]
    process = subprocess.Popen(program, stdin=side, stdout=side, stderr=side, cwd=path.parent, close_fds=True)
    os.close(side)
    sent = b""
    try:
        sent += until(main, b"What costs most")
        for key in keys:
            os.write(main, key.encode())
            sent += until(main, None)
    finally:
        process.terminate()
        process.wait(10)
        os.close(main)
    return sent


def until(terminal: int, wanted: bytes | None) -> bytes:
    """What comes until some bytes do, or until nothing comes for a moment."""
    sent, end = b"", time.monotonic() + 60
    while time.monotonic() < end and (wanted is None or wanted not in sent):
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if not ready and wanted is None:
            break
        try:
            sent += os.read(terminal, 65536) if ready else b""
        except OSError:
            break
    return sent
