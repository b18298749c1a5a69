"""Drawing with ASCII alone, and colours by option."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.screens import opened, screen
from tracelens.reporting.bars import LOOKS
from tracelens.tui import COLORS, _choose_colors
from tracelens.tui.inks import EIGHTHS
from tracelens.tui.links import Place
from tracelens.tui.plain import plain
from tracelens.tui.shell import few_colors


def test_every_glyph_has_its_own_likeness() -> None:
    assert [plain(look.glyph) for look in LOOKS.values()] == [look.plain for look in LOOKS.values()]
    assert len(set(plain(EIGHTHS))) == len(EIGHTHS)
    assert plain("gemm → é") == "gemm ? ?"


@pytest.mark.parametrize("view", ["overview", "timeline", "kernels", "advice", "findings"])
async def test_the_screen_is_ascii(eager: Path, view: str) -> None:
    async with opened(eager, place=Place(view)) as (app, pilot):
        app.ascii = True
        app.refresh_css()
        app.screen.refresh(layout=True)
        for widget in app.screen.query("*"):
            widget.refresh()
        await pilot.pause()
        assert [line for line in screen(app) if not line.isascii()] == []


def test_colours_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TEXTUAL_COLOR_SYSTEM", "auto")
    for name, plain_theme in (("16", True), ("256", False), ("truecolor", False)):
        _choose_colors(name)
        assert "NO_COLOR" not in os.environ
        assert os.environ["TEXTUAL_COLOR_SYSTEM"] == COLORS[name]
        assert few_colors(os.environ) == plain_theme
    _choose_colors("none")
    assert os.environ["NO_COLOR"] == "1"
