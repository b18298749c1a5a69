"""tracelens ranks."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens.cli import output
from tracelens.cli.command import add_json
from tracelens.cli.progress import Progress
from tracelens.errors import UsageError
from tracelens.exitcodes import ExitCode

if TYPE_CHECKING:
    from tracelens.advice.choice.job import Rank
    from tracelens.reporting.job import JobReport


class RanksCommand:
    """Judge the ranks of a job together."""

    name = "ranks"
    summary = "one verdict for the ranks of a job, and why single ones differ"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the traces, and the format."""
        parser.add_argument(
            "traces",
            metavar="TRACE",
            nargs="+",
            type=Path,
            help="the traces of the job's ranks, or a directory that holds them and no others",
        )
        add_json(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print the verdict and a row for each rank."""
        from tracelens.advice.choice.job import judge
        from tracelens.advice.choice.one_job import kinship
        from tracelens.reporting.job import JobReport

        ranks = tuple(sorted(_ranks(options.traces), key=lambda rank: (len(rank.name), rank.name)))
        if len(ranks) < 2:
            raise UsageError("ranks compares several traces; tracelens report judges one")
        kin = kinship(ranks)
        if kin.strangers:
            raise UsageError(f"the traces are of different programs: {kin.strangers}; give those of one job")
        report = JobReport(ranks, judge(ranks, kin.doubts), kin)
        output.emit(report.to_json() if options.json else _text(report))
        return ExitCode.OK if report.job else ExitCode.NOTHING_TO_JUDGE


def _text(report: JobReport) -> str:
    from tracelens.reporting.job_pages import to_text

    out = sys.stdout
    return to_text(report, width=output.columns(), color=output.is_colored(out), unicode=output.is_unicode(out))


def _ranks(paths: list[Path]) -> list[Rank]:
    """Each trace with the advice on it; UsageError for two of one rank, or of jobs of different sizes."""
    from tracelens import api
    from tracelens.advice.choice.job import Rank
    from tracelens.reporting.document import rank_of

    ranks, sizes, names = list[Rank](), set[int](), _names(list(_files(paths)))
    for path in names:
        with Progress() as progress:
            report = api.report(path, progress=progress)
        number, world = rank_of(report.analysis.trace)
        name = names[path] if number is None else str(number)
        ranks.append(Rank(name, report.analysis, report.advice, world))
        sizes |= {world} if world else set()
    twice = [name for name, count in Counter(rank.name for rank in ranks).items() if count > 1]
    if twice:
        raise UsageError(f"several of the traces are of rank {twice[0]}; give one of each rank")
    if len(sizes) > 1:
        raise UsageError(
            f"the traces are of jobs of {' and '.join(map(str, sorted(sizes)))} ranks; give those of one job"
        )
    return ranks


def _names(paths: list[Path]) -> dict[Path, str]:
    """What traces are called that give no rank: by the file without the ending that all share, and its folder where
    several files have that name."""
    often, shared = Counter(path.name for path in paths), _shared_ending([path.name for path in paths])
    short = {path: path.name.removesuffix(shared) for path in paths}
    return {path: name if often[path.name] == 1 else f"{path.parent.name}/{name}" for path, name in short.items()}


def _shared_ending(names: list[str]) -> str:
    """The longest ending from a point on that all names have (".eager.json.gz"), and that leaves something of each."""
    endings = (names[0][at:] for at, letter in enumerate(names[0]) if letter == "." and at) if names else ()
    return next((ending for ending in endings if all(n.endswith(ending) and n != ending for n in names)), "")


def _files(paths: list[Path]) -> Iterator[Path]:
    """The traces themselves, those of a directory in its place."""
    from tracelens.loading.choose import traces_in

    for path in paths:
        yield from traces_in(path) if path.is_dir() else [path]
