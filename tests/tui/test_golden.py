"""Screens as they are drawn, byte for byte. TRACELENS_GOLDEN=write renews the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.reporting import example
from tests.tui.screens import SIZES, opened, screen
from tracelens.reporting.document import build
from tracelens.tui.actions import Situation, markdown
from tracelens.tui.app import TraceLens
from tracelens.tui.links import Place
from tracelens.tui.pages.advice import advice
from tracelens.tui.pages.help import help_rows
from tracelens.tui.pages.overview import overview
from tracelens.tui.rows import text

GOLDEN = Path(__file__).parent / "golden"
KEYS = {"timeline": ["G"], "gaps": ["down"], "kernels": []}


def expect(name: str, written: str) -> None:
    path = GOLDEN / name
    if os.environ.get("TRACELENS_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written.encode())
    assert written.encode() == path.read_bytes()


def styled(app: TraceLens) -> str:
    """The screen with its colours and attributes, as runs."""
    lines: list[str] = []
    for strip in app.screen._compositor.render_strips(app.size):
        runs = [(str(segment.style), segment.text) for segment in strip if segment.text.strip()]
        lines.append(" ".join(f"[{style}]{text.strip()}" for style, text in runs))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", KEYS)
async def test_views_are_as_recorded(eager: Path, view: str, size: tuple[int, int]) -> None:
    async with opened(eager, size=size, place=Place(view)) as (app, pilot):
        await pilot.press(*KEYS[view])
        await pilot.pause()
        expect(f"{view}.{size[0]}x{size[1]}.txt", "\n".join(screen(app)) + "\n")


@pytest.mark.parametrize("look", ["dark", "light", "sixteen", "no_color"])
async def test_colours_are_as_recorded(eager: Path, look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if look == "no_color":
        monkeypatch.setenv("NO_COLOR", "1")
    if look == "sixteen":
        monkeypatch.setenv("TERM", "linux")
        monkeypatch.delenv("COLORTERM")
    async with opened(eager, size=(80, 24), place=Place("timeline")) as (app, pilot):
        await pilot.press("G", *(["ctrl+t"] if look == "light" else []))
        await pilot.pause()
        expect(f"timeline.{look}.txt", styled(app))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_overview_is_as_recorded(width: int) -> None:
    document = build(example.analysis(), example.advice(), limit=0)
    expect(f"overview.{width}.txt", "\n".join(text(line).rstrip() for line in overview(document, [], width)) + "\n")


def test_a_stretch_is_called_what_the_text_calls_it() -> None:
    document = build(example.analysis(), example.advice(), limit=0)
    document["window"]["steps"] = None
    assert "Four ways to run this stretch, ms" in [text(line) for line in overview(document, [], 80)]


def test_the_advice_is_as_recorded() -> None:
    document = build(example.analysis(), example.advice(), limit=0)
    expect("advice.txt", "\n".join(text(line).rstrip() for line in advice(document, 80)) + "\n")


def test_help_is_as_recorded_and_the_readme_has_the_keys() -> None:
    expect("help.txt", "\n".join(text(line).rstrip() for line in help_rows("timeline", Situation(loaded=True))) + "\n")
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    assert f"<!-- keys -->\n{markdown()}" in readme
