"""The whole table of speed and memory: python -m tests.bench [TRACE] [--mb 50 250 1000] [--write].

Prints each run as it ends and the table at the end; --write puts it into tests/data/performance.md. What was measured
stays in a folder of the system's for temporary files, with the traces: started again, it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from tests.bench import table, traces
from tests.bench.log import LIMIT, Log
from tests.bench.subjects import SUBJECTS, Subject
from tests.bench.traces import ROOT, SAMPLE, Case

TABLE: Final = ROOT / "tests" / "data" / "performance.md"
LOADS: Final = 9
"""Runs of the load, which all others are compared with, and its sizes with one another: a machine's pace varies."""
STARTED: Final = time.monotonic()


def main() -> None:
    """Measure what is not measured yet, print the table, and write it where asked."""
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("trace", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--mb", type=float, nargs="+", default=[50, 250, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="measure again what this code has measured before")
    parser.add_argument("--write", action="store_true", help=f"to {TABLE.relative_to(ROOT)}")
    options = parser.parse_args()
    cases = list(made(options.trace, sorted(options.mb)))
    log = Log(fresh=options.fresh)
    for number in range(1, max(options.rounds, LOADS) + 1):
        for case in cases:
            measure(log, case, cases, number, SUBJECTS if number <= options.rounds else SUBJECTS[:1])
    page = table.text(log, cases)
    print(page)
    if options.write:
        TABLE.write_text(page, encoding="utf-8")


def made(source: Path, sizes: list[float]) -> Iterator[Case]:
    """The traces; each is written by a process of its own, whose memory counts nowhere else."""
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        for megabytes in sizes:
            say(f"trace of {megabytes:g} MB")
            yield apart.submit(traces.of_size, source, megabytes).result()
        say(f"trace of {traces.MANY_NAMES:,} names")
        yield apart.submit(traces.of_many_names).result()


def measure(log: Log, case: Case, cases: list[Case], number: int, subjects: Sequence[Subject]) -> None:
    """Run the subjects on one trace for the `number`th time, but for what takes too long.

    Each round is one of all traces: a machine changes its pace within minutes, and the sizes are compared."""
    for subject in subjects:
        if is_due(log, case, cases, subject, number):
            run = log.measure(case, subject)
            took = f"{run.seconds:.2f} s (processor {run.cpu_seconds:.2f} s), {run.peak_bytes / 1e6:.0f} MB"
            say(f"round {number}, {case.name}, {subject.name}: {took if run.is_whole else 'ended'}")


def is_due(log: Log, case: Case, cases: list[Case], subject: Subject, number: int) -> bool:
    """Whether a subject is to be run on a trace for the `number`th time."""
    runs = log.of(case.name, subject.name)
    if not subject.is_installed or len(runs) >= number:
        return False
    if subject.own:
        return True
    if runs:
        return runs[-1].seconds <= table.PATIENCE
    return table.expected_seconds(log, case, cases, subject) <= LIMIT


def say(text: str) -> None:
    """Print a line of progress."""
    print(f"{time.monotonic() - STARTED:6.0f} s  {text}", flush=True)


if __name__ == "__main__":
    main()
