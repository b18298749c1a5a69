"""What a command is, and the options that several share."""

from __future__ import annotations

import argparse
from typing import NoReturn, Protocol

from tracelens.errors import UsageError


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
        raise UsageError(f"{message}; see {self.prog} --help")


def add_trace(parser: argparse.ArgumentParser) -> None:
    """The trace to read."""
    parser.add_argument(
        "trace",
        metavar="TRACE",
        help="a .json, .json.gz or .json.zst trace of torch.profiler, a directory that holds one, the directory of a "
        "run, or - for standard input",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Print JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")
