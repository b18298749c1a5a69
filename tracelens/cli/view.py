"""tracelens view: the terminal app."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from tracelens.cli.command import add_trace, add_window
from tracelens.errors import UsageError
from tracelens.exitcodes import ExitCode

MOST_FPS: Final = 1_000
OPTIONS: Final = frozenset(
    {"--view", "--select", "--no-mouse", "--fps", "--color", "--ascii", "--step", "--range", "--device"}
)


class ViewCommand:
    """Open a trace in the terminal."""

    name = "view"
    summary = "the report and the timeline behind it, in an app in the terminal"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare what to open and where to begin."""
        from tracelens.tui import COLORS
        from tracelens.tui.links import VIEWS

        parser.description = f"Opens {self.summary}."
        add_trace(parser)
        parser.add_argument("--view", choices=VIEWS, default="overview", help="begin with this view")
        parser.add_argument("--select", metavar="HANDLE", help="begin at an event or gap (g-12, k-5, ...)")
        parser.add_argument("--no-mouse", dest="mouse", action="store_false", help="leave the mouse to the terminal")
        parser.add_argument("--fps", metavar="N", type=_rate, help="draw at most N times a second (15 over SSH)")
        parser.add_argument("--color", choices=COLORS, default="auto", help="colours (by what the terminal says)")
        parser.add_argument("--ascii", action="store_true", help="draw without block characters")
        add_window(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Run the app; the exit code is that of opening the trace."""
        if not has_screen():
            raise UsageError("view needs a terminal; tracelens report prints the same without one")
        from tracelens import tui
        from tracelens.tui.links import Place, Portion

        place = Place(options.view, options.select, Portion(options.device, options.step, options.range))
        code = tui.run(
            options.trace,
            place,
            mouse=options.mouse,
            fps=options.fps,
            color=options.color,
            ascii=options.ascii,
        )
        if code not in set(ExitCode) - {ExitCode.INTERRUPTED}:
            raise KeyboardInterrupt
        return ExitCode(code)


def _rate(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:5]) <= MOST_FPS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of times a second (1 to {MOST_FPS})")
    return int(text)


def has_screen() -> bool:
    """Whether there is a terminal that an app can read keys from and draw on, which it does by standard error."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream.isatty() for stream in streams) and os.environ.get("TERM", "dumb") != "dumb"


def is_for_app(words: Sequence[str]) -> bool:
    """Whether a command without a name is one for the app: on a terminal, and asking for no output."""
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    return has_screen() and options <= OPTIONS
