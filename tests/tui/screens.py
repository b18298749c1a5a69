"""Drives the app without a terminal, and reads its screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tests.build import TraceBuilder
from tracelens.tui.app import TraceLens
from tracelens.tui.links import Place
from tracelens.tui.opening import Opening
from tracelens.tui.views.timeline import TimelineView

SIZES = ((80, 24), (120, 40), (200, 50))


def eager_steps() -> TraceBuilder:
    """Four steps of two operators that launch a kernel each, a sync, and Python around them."""
    builder = TraceBuilder().device_name(0, "NVIDIA H200")
    for number in range(4):
        at = 1000.0 * number
        builder.step(number, start=at, dur=990)
        builder.python("model.py(41): forward", start=at + 5, dur=900)
        builder.op("aten::linear", start=at + 10, dur=200, shapes=[[8, 8], [8, 8]])
        builder.op("aten::addmm", start=at + 20, dur=100)
        builder.launch("nvjet_hsh_64x64", start=at + 50, dur=10, at=at + 70, runs=40)
        builder.op("aten::relu", start=at + 300, dur=200)
        builder.launch("void at::native::relu_kernel<float>(int)", start=at + 350, dur=10, at=at + 370, runs=30)
        builder.sync(start=at + 600, dur=20)
        builder.op("aten::add", start=at + 700, dur=100)
        builder.launch("void at::native::add_kernel<float>(int)", start=at + 750, dur=10, at=at + 770, runs=60)
    return builder


@asynccontextmanager
async def opened(
    path: Path, *, size: tuple[int, int] = (120, 40), place: Place | None = None
) -> AsyncIterator[tuple[TraceLens, Pilot[int]]]:
    """The app with a trace open and its timeline prepared, or with what it says instead."""
    opening = Opening(str(path))
    app = TraceLens(opening, place=place or Place())
    opening.start()
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        yield app, pilot


async def settled(app: TraceLens, pilot: Pilot[int]) -> None:
    """Wait until there is nothing left to wait for."""
    for _ in range(1000):
        await pilot.pause(0.01)
        if app.atlas is not None or app.code or app.switcher.current == "refused":
            break
    await app.workers.wait_for_complete()
    await pilot.pause()
    await pilot.pause()


def screen(app: TraceLens) -> list[str]:
    """The text of the screen, line by line."""
    strips = app.screen._compositor.render_strips(app.size)
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def shows(app: TraceLens, words: str) -> bool:
    """Whether some words are on the screen."""
    return any(words in line for line in screen(app))


def timeline(app: TraceLens) -> TimelineView:
    """The app's timeline."""
    return app.switcher.query_one(TimelineView)


async def typed(pilot: Pilot[int], text: str) -> None:
    """Type a text, and enter."""
    await pilot.press(*text, "enter")
    await pilot.pause()
