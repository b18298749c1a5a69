"""What a command is, and the options that several share."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from tracelens.cli import output
from tracelens.cli.suggest import did_you_mean
from tracelens.errors import UsageError
from tracelens.reporting.printable import cut, printable

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

LONGEST: Final = 300
"""Columns of a message: words of any length may be typed."""
_OPTION: Final = re.compile(r"--[\w-]+")


class Command(Protocol):
    """A word after `tracelens`. Modules of commands import what they need when they run."""

    name: str
    summary: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""
        ...

    def run(self, options: argparse.Namespace) -> int:
        """Do it and return an exit code; TraceLensError when it cannot be done."""
        ...


class Parser(argparse.ArgumentParser):
    """Raises what is wrong as one line instead of printing the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{cut(printable(message), LONGEST)} (see {self.prog} --help)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print the help or the version as all data is printed: what cannot be written is no silent loss."""
        del file
        output.emit(message)

    def refuse(self, word: str) -> NoReturn:
        """Raise UsageError for a word that the command does not take."""
        if not word.startswith("-"):
            self.error(f"{self.prog} does not take {word!r} as well")
        near = did_you_mean(word.partition("=")[0], _OPTION.findall(self.format_usage()))
        self.error(f"{self.prog} has no option {word}{near}")


def add_trace(parser: argparse.ArgumentParser, nargs: str | None = None, more: str = "") -> None:
    """The trace to read; `nargs` as argparse takes it, and `more` to say of it."""
    parser.add_argument(
        "trace",
        metavar="TRACE",
        type=_path,
        nargs=nargs,
        help="a .json, .json.gz or .json.zst trace of torch.profiler, a directory that holds one, the directory of a "
        f"run (of a rank of it: its run.rankN.json), or - for standard input{more}",
    )


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("an empty name; give a trace")
    return text


def add_json(parser: argparse.ArgumentParser) -> None:
    """Print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_window(parser: argparse.ArgumentParser) -> None:
    """Which device and which stretch of the trace to judge."""
    window = parser.add_mutually_exclusive_group()
    window.add_argument("--step", metavar="NAME", help="take the annotation NAME as the step")
    window.add_argument(
        "--range",
        metavar="A..B",
        type=_span,
        help="judge this stretch from the trace's start (12ms..15ms), or all: first to last device event",
    )
    parser.add_argument("--device", metavar="N", type=int, help="judge device N (default: the busiest)")


def _span(text: str) -> str | tuple[int, int]:
    from tracelens.model.units import parse_span

    try:
        return "all" if text == "all" else parse_span(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
