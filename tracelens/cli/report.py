"""tracelens report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracelens.cli import output
from tracelens.cli.command import add_json, add_trace, add_window
from tracelens.cli.conditions import Condition, exit_code, parse_conditions
from tracelens.cli.formats import expect_apart, format_of
from tracelens.errors import UsageError
from tracelens.exitcodes import ExitCode

if TYPE_CHECKING:
    from tracelens.reporting.report import Report

SUFFIXES: Final = (".md", ".txt", ".json", ".csv")
MOST_DIGITS: Final = 18
"""A longer number counts no rows."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The format, checked before a trace is read."""

    format: str
    """".txt", ".md", ".json" or ".csv"."""
    table: str
    path: Path | None
    force: bool
    limit: int | None

    def pieces(self, report: Report) -> Iterable[str]:
        """The report in that format, piece by piece."""
        return report.json_pieces(limit=self.limit) if self.format == ".json" else (self._text(report),)

    def _text(self, report: Report) -> str:
        if self.format == ".csv":
            return report.to_csv(self.table, limit=self.limit)
        if self.format == ".md":
            return report.to_markdown(limit=self.limit)
        if self.path is not None:
            return report.to_text(limit=self.limit)
        out = sys.stdout
        return report.to_text(
            width=output.columns(),
            color=output.is_colored(out),
            unicode=output.is_unicode(out),
            limit=self.limit,
        )

    def deliver(self, report: Report) -> None:
        """Print it, or write the file and say so."""
        pieces = self.pieces(report)
        if self.path is None:
            output.emit_all(pieces)
            return
        output.write_file(self.path, pieces, force=self.force)
        output.note(f"wrote {self.path}")


class ReportCommand:
    """Judge a trace."""

    name = "report"
    summary = "where the step's time goes, and whether compile, replay, both or neither will help"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare what to judge, how to print it and when to fail."""
        from tracelens.reporting.schema import COLUMNS, SHOWN_ROWS

        add_trace(parser)
        add_json(parser)
        parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write FILE: .md, .txt, .json or .csv")
        parser.add_argument("--force", action="store_true", help="let -o overwrite")
        parser.add_argument(
            "--table", choices=tuple(COLUMNS), help="print this table as CSV (-o FILE.csv: kernels by default)"
        )
        parser.add_argument(
            "--limit",
            metavar="N",
            type=_count,
            help=f"rows of each table; 0 shows all, and all findings (default: {SHOWN_ROWS} in text and Markdown, all "
            "in JSON and CSV)",
        )
        add_window(parser)
        parser.add_argument(
            "--fail-on",
            metavar="COND",
            type=parse_conditions,
            action="extend",
            default=[],
            help="exit with 1 when the verdict is both, compile or replay and more than a guess, when it is open which "
            "of those named is best but surely one is, or when the device idles as recorded (idle=PERCENT), with 4 "
            "when nothing tells; several: separate with commas",
        )

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print or write the report."""
        from tracelens.cli.reading import report

        wanted = _wanted(options)
        judged = report(options)
        wanted.deliver(judged)
        return _exit_code(judged, options.fail_on)


def _wanted(options: argparse.Namespace) -> Wanted:
    from tracelens.reporting.schema import SHOWN_ROWS

    path: Path | None = options.output
    chosen = _format(options)
    if options.force and path is None:
        raise UsageError("--force lets -o overwrite a file; name the file with -o FILE")
    if options.table and chosen != ".csv":
        raise UsageError("--table prints CSV; leave out --json, or give -o a name that ends in .csv")
    if path is not None:
        output.expect_writable(path, force=options.force)
        expect_apart(path, options.trace)
    default = SHOWN_ROWS if chosen in (".txt", ".md") else None
    limit = default if options.limit is None else options.limit or None
    return Wanted(chosen, options.table or "kernels", path, options.force, limit)


def _format(options: argparse.Namespace) -> str:
    is_table = options.output is None and options.table and not options.json
    return ".csv" if is_table else format_of(options.output, SUFFIXES, json=options.json)


def _exit_code(report: Report, conditions: list[Condition]) -> ExitCode:
    """That of the conditions; NOTHING_TO_JUDGE without device work, where none can hold."""
    if report.exit_code is not ExitCode.OK and conditions:
        output.note("--fail-on: there is nothing to judge, so no condition can hold")
    if report.exit_code is not ExitCode.OK or not conditions:
        return report.exit_code
    return exit_code(report.limited(0), conditions)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows (0 shows all)")
    return int(text)
