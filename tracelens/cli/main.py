"""Finds the command that the words ask for, runs it, and turns every end into an exit code."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tracelens.cli import output
from tracelens.cli.capture import CaptureCommand
from tracelens.cli.command import Command, Parser
from tracelens.cli.explain import ExplainCommand, RulesCommand
from tracelens.cli.ranks import RanksCommand
from tracelens.cli.report import ReportCommand
from tracelens.cli.show import ShowCommand
from tracelens.cli.suggest import did_you_mean
from tracelens.cli.view import ViewCommand, is_for_app
from tracelens.errors import TraceLensError, UsageError
from tracelens.exitcodes import ExitCode
from tracelens.version import __version__

COMMANDS: Final[tuple[Command, ...]] = (
    ViewCommand(),
    ReportCommand(),
    RanksCommand(),
    ShowCommand(),
    RulesCommand(),
    ExplainCommand(),
    CaptureCommand(),
)
_OWN_OPTIONS: Final = frozenset({"-h", "--help", "--version"})
_ABOUT: Final = """\
Reads a torch.profiler trace, accounts for every nanosecond of a step, and says
whether torch.compile, CUDA Graph replay, both or neither will help."""
_EXIT_CODES: Final = """\
tracelens PATH is short for tracelens view PATH on a terminal, else for
tracelens report PATH.

exit codes: 0 done, 1 a --fail-on condition holds, 2 the command is wrong,
3 the trace cannot be read, 4 it holds no device work, or nothing to tell
whether a condition holds, 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` without the program's name."""
    output.open_streams()
    try:
        return int(_run(list(sys.argv[1:] if argv is None else argv)))
    except TraceLensError as error:
        output.note(str(error))
        return int(error.exit_code)
    except KeyboardInterrupt:
        output.note("interrupted")
        return int(ExitCode.INTERRUPTED)
    except MemoryError:
        output.note("out of memory; a trace of fewer steps needs less")
        return int(ExitCode.UNREADABLE)
    except Exception as error:
        return int(_missing_package(error) or _internal_error(error))


def _run(words: list[str]) -> int:
    if words[:1] == [CaptureCommand.name]:
        # The words that follow are the script's as well: argparse must not see them here.
        return CaptureCommand().run_words(words[1:])
    _start_light()
    if words and _is_path(words[0]):
        words = [ViewCommand.name if is_for_app(words) else ReportCommand.name, *words]
    try:
        options, unknown = _parser(words[:1]).parse_known_args(words or ["--help"])
    except SystemExit:
        # argparse has printed the help or the version.
        return ExitCode.OK
    if unknown:
        options.parser.refuse(unknown[0])
    command: Command = options.command
    return command.run(options)


def _start_light() -> None:
    """Spare the start what reading and drawing do not need, unlike a script that is recorded."""
    # Nothing multiplies matrices, and a BLAS takes a while to start its threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports and a report make many objects, nearly all of which stay.
    gc.set_threshold(100_000)


def _is_path(word: str) -> bool:
    """Whether the first word is a trace (or an option about one) and no command; UsageError when it is neither."""
    names = [command.name for command in COMMANDS]
    if word in names or word in _OWN_OPTIONS:
        return False
    is_name = word.isidentifier() and not output.exists(Path(word))
    if is_name:
        raise UsageError(f"{word!r} is neither a command nor a file{did_you_mean(word, names)} (see tracelens --help)")
    return True


def _parser(asked: list[str]) -> Parser:
    """Knows all commands, and the options of the one asked for."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="tracelens", description=_ABOUT, epilog=_EXIT_CODES, formatter_class=raw, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"tracelens {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        words = commands.add_parser(
            command.name, help=command.summary, description=f"Prints {command.summary}.", allow_abbrev=False
        )
        if command.name in asked:
            command.add_options(words)
        words.set_defaults(command=command, parser=words)
    return parser


def _missing_package(error: Exception) -> ExitCode | None:
    """One line for a package that the environment lacks; None for any other error."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not name or name in ("tracelens", "capture"):
        return None
    output.note(f"the package {name} is missing; pip install torch-tracelens brings it, as does pip install {name}")
    return ExitCode.UNREADABLE


def _internal_error(error: Exception) -> ExitCode:
    """One line for a defect of ours; exit 3, as the trace got no answer."""
    import traceback  # only where something went wrong

    if os.environ.get("TRACELENS_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    output.note(
        f"internal error at {place}: {type(error).__name__}: {error}; please report it "
        "(TRACELENS_DEBUG=1 shows the traceback)"
    )
    return ExitCode.UNREADABLE
