"""tracelens ranks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracelens.cli import output
from tracelens.cli.command import add_json
from tracelens.cli.conditions import Condition, exit_code, parse_conditions
from tracelens.cli.formats import format_of
from tracelens.cli.given import ranks_of
from tracelens.errors import UsageError
from tracelens.exitcodes import ExitCode

if TYPE_CHECKING:
    from tracelens.reporting.job import JobReport

SUFFIXES: Final = (".md", ".txt", ".json")


class RanksCommand:
    """Judge the ranks of a job together."""

    name = "ranks"
    summary = "one verdict for the ranks of a job, and why single ones differ"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the traces, how to print the verdict and when to fail."""
        parser.add_argument(
            "traces",
            metavar="TRACE",
            nargs="+",
            type=Path,
            help="the traces of the job's ranks, or a directory that holds them and no others, or that of their run",
        )
        add_json(parser)
        parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write FILE: .md, .txt or .json")
        parser.add_argument("--force", action="store_true", help="let -o overwrite")
        parser.add_argument(
            "--fail-on",
            metavar="COND",
            type=_verdicts,
            action="extend",
            default=[],
            help="exit with 1 when the verdict for the job is both, compile or replay and more than a guess, or surely "
            "one of those named, with 4 when there is none; several: separate with commas",
        )

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print or write the verdict and a row for each rank."""
        from tracelens.advice.choice.job import judge
        from tracelens.advice.choice.one_job import kinship
        from tracelens.reporting.job import JobReport

        path, chosen = options.output, _format(options)
        ranks = tuple(sorted(ranks_of(options.traces, path), key=lambda rank: (len(rank.name), rank.name)))
        if len(ranks) == 1:
            raise UsageError(f"{options.traces[0]} is one trace, ranks compares several: tracelens report judges it")
        kin = kinship(ranks)
        if kin.strangers:
            raise UsageError(f"the traces are of different programs: {kin.strangers}; give those of one job")
        report = JobReport(ranks, judge(ranks, kin.doubts), kin)
        _deliver(_rendered(report, chosen, path), path, force=options.force)
        return _exit_code(report, options.fail_on)


def _exit_code(report: JobReport, conditions: list[Condition]) -> ExitCode:
    """That of the conditions; without any that of a report on each rank: NOTHING_TO_JUDGE where one has no device
    work."""
    from tracelens.reporting.report import Report

    if report.document is not None:
        return exit_code(report.document, conditions) if conditions else ExitCode.OK
    if conditions:
        output.note("--fail-on: there is no verdict")
        return ExitCode.NOTHING_TO_JUDGE
    return max(Report(rank.analysis, rank.advice, rank.run).exit_code for rank in report.ranks)


def _verdicts(text: str) -> list[Condition]:
    """Conditions on the verdict; ArgumentTypeError for others."""
    conditions = parse_conditions(text, more="")
    if not all(condition.verdict for condition in conditions):
        raise argparse.ArgumentTypeError("idle is of one rank: tracelens report --fail-on idle=PERCENT judges it")
    return conditions


def _format(options: argparse.Namespace) -> str:
    """The format, checked with the file before a trace is read."""
    path, chosen = options.output, format_of(options.output, SUFFIXES, json=options.json)
    if options.force and path is None:
        raise UsageError("--force lets -o overwrite a file; name the file with -o FILE")
    if path is not None:
        output.expect_writable(path, force=options.force)
    return chosen


def _rendered(report: JobReport, chosen: str, path: Path | None) -> str:
    from tracelens.reporting import job_pages

    out = sys.stdout
    if chosen == ".json":
        return report.to_json()
    if chosen == ".md":
        return job_pages.to_markdown(report)
    if path is not None:
        return job_pages.to_text(report)
    return job_pages.to_text(
        report, width=output.columns(), color=output.is_colored(out), unicode=output.is_unicode(out)
    )


def _deliver(text: str, path: Path | None, *, force: bool) -> None:
    """Print it, or write the file and say so."""
    if path is None:
        output.emit(text)
        return
    output.write_file(path, (text,), force=force)
    output.note(f"wrote {path}")
