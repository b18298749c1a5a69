"""The command that opens the app where it is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.tui.screens import settled
from tracelens.cli.command import Parser
from tracelens.cli.view import ViewCommand
from tracelens.tui.app import TraceLens
from tracelens.tui.links import Place, Portion
from tracelens.tui.opening import Opening

PLACES = (
    Place(),
    Place("timeline", "g-12", Portion(range=(1_000_000, 2_500_000))),
    Place("gaps", None, Portion(device=1, range=(0, 7))),
    Place("overview", None, Portion(step="my step", device=0)),
    Place("kernels", "k-3", Portion(range="all")),
)


@pytest.mark.parametrize("place", PLACES)
def test_a_command_leads_back_to_its_place(place: Place) -> None:
    _, *words = shlex.split(place.command("a trace.json"))
    parser = Parser()
    view = ViewCommand()
    view.add_options(parser)
    options = parser.parse_args(words)
    assert options.trace == "a trace.json"
    asked = Portion(options.device, options.step, options.range)
    assert Place(options.view, options.select, asked) == place


@pytest.mark.parametrize("portion", [Portion(0, "ProfilerStep", None), Portion(None, None, "all")])
async def test_what_is_copied_asks_for_the_same_portion(eager: Path, portion: Portion) -> None:
    opening = Opening(str(eager), portion=portion)
    app = TraceLens(opening, place=Place(portion=portion))
    opening.start()
    async with app.run_test() as pilot:
        await settled(app, pilot)
        assert app.here().command("x") == Place("overview", None, portion).command("x")
        app.action_copy_link()
        await pilot.pause()
        assert "Copied the command" in app._said


async def test_a_range_takes_the_place_of_the_step(eager: Path) -> None:
    opening = Opening(str(eager), portion=Portion(0, None, "all"))
    app = TraceLens(opening, place=Place())
    opening.start()
    async with app.run_test() as pilot:
        await settled(app, pilot)
        await pilot.press("2", "l", "v", "l", "v")
        await settled(app, pilot)
        command = app.here().command("x")
        assert "--range " in command
        assert "--range all" not in command
        assert "--device 0" in command
        await pilot.press("V")
        await settled(app, pilot)
        assert "--range all" in app.here().command("x")
