"""What lies over the views: nothing of it is hidden by its scroll bar or cut without a sign."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.build import TraceBuilder
from tests.tui.screens import opened, screen
from tracelens.tui.app import TraceLens
from tracelens.tui.rows import text
from tracelens.tui.widgets.lines import Lines


def inside(app: TraceLens) -> list[str]:
    """The lines of the dialog between its borders and left of its scroll bar."""
    return [line.strip()[1:-1].strip(" ▁▂▃▄▅▆▇█") for line in screen(app) if line.strip().startswith("│")]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (61, 17)])
async def test_the_checks_are_read_to_their_last_letter(eager: Path, size: tuple[int, int]) -> None:
    async with opened(eager, size=size) as (app, pilot):
        assert app.session is not None
        await pilot.press("t")
        await pilot.pause()
        told = " ".join(" ".join(inside(app)).split())
        first, *_ = sorted(app.session.document["trust"]["checks"], key=lambda check: check["passed"])
        assert first["message"] in told


async def test_what_is_cut_shows_it(eager: Path) -> None:
    async with opened(eager, size=(61, 20)) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        rows = [text(line).strip() for line in app.screen.query_one("#dialog", Lines).rows]
        shown = inside(app)
        assert any(line.endswith("…") for line in shown)
        for line in shown:
            assert any(line == words or (line.endswith("…") and words.startswith(line[:-1])) for words in rows)


async def test_a_long_argument_is_shown_whole(tmp_path: Path) -> None:
    builder, words = TraceBuilder(), " ".join(f"word{number}" for number in range(40))
    builder.op("aten::mm", start=0, dur=100, args={"Long": words})
    builder.launch("gemm", start=10, dur=5, at=20, runs=10)
    async with opened(builder.write(tmp_path / "long.json"), size=(80, 24)) as (app, pilot):
        await pilot.press("2", "down", "down", "right", "enter")
        await pilot.pause(0.2)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert words in " ".join(" ".join(inside(app)).split())
