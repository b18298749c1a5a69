"""The runs of a benchmark as Markdown."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.log import LIMIT, Log, Run
from tests.bench.subjects import AMD, BY_NUMPY, HTA, HTA_REPORT, JSON, LOAD, ORJSON, REPORT, SUBJECTS, ZIPPED, Subject
from tests.bench.traces import Case
from tracelens.loading.plain import compiled

CPU: Final = Path("/proc/cpuinfo")
MEMORY: Final = Path("/proc/meminfo")
PATIENCE: Final = 100.0
"""Seconds: what takes longer and is no part of this project runs once."""
NOTES: Final = f"""\
Written by `python -m tests.bench --write`: a real trace repeated to each size, and one in which no two operators or
kernels are named alike. Each run has a process of its own, in turn on all traces; medians of so many runs. Imports
count for `tracelens report` and the idle time, not for what only reads. Loading uses its compiled part where that is
built, but for the row of numpy alone. That row and others run once where they take over {PATIENCE:.0f} s, are ended
after {LIMIT:.0f} s, and are left out where the smaller trace tells that they would take longer. HolisticTraceAnalysis'
parser is its reading of one trace alone; its idle time is TraceAnalysis with the breakdown of idle time, the nearest
that it has to a report.
"""
NO_AMD: Final = """
The tree of AMD's TraceLens is not measured: it comes from its repository alone (the package of its name in the registry
is another project). It is measured where a module `TraceLens` with `TreePerf` is installed.
"""


@dataclass(frozen=True)
class Row:
    """Medians of one subject on one trace."""

    runs: int
    seconds: float
    cpu_seconds: float
    peak_bytes: float
    again_ms: tuple[float, ...]

    @classmethod
    def of(cls, runs: list[Run]) -> Row | None:
        """Of the runs that came to their end; None without any."""
        whole = [run for run in runs if run.is_whole]
        if not whole:
            return None
        seconds, used, peaks = (
            [getattr(run, name) for run in whole] for name in ("seconds", "cpu_seconds", "peak_bytes")
        )
        again = tuple(map(statistics.median, zip(*(run.again_ms for run in whole), strict=True)))
        return cls(len(whole), *map(statistics.median, (seconds, used, peaks)), again)


def expected_seconds(log: Log, case: Case, cases: list[Case], subject: Subject) -> float:
    """Seconds that a subject takes on a trace, by what the largest smaller one took; 0 if there is none."""
    measured = ((other.size, log.of(other.name, subject.name)) for other in cases if other.size < case.size)
    known = max(((size, runs[-1].seconds) for size, runs in measured if runs), default=None)
    return known[1] * case.size / known[0] if known else 0.0


def text(log: Log, cases: list[Case]) -> str:
    """The whole page."""
    waits = [run.waiting for run in log.runs if run.case in {case.name for case in cases}]
    busy = f"Load average at the start of a run: median {statistics.median(waits):.1f}, at most {max(waits):.1f}."
    lines = ["# Speed and memory of loading and of the report\n", f"{machine()}. {busy}\n", NOTES]
    for case in cases:
        lines += section(log, case, cases)
    lines += flatness(log, [case for case in cases if not case.is_of_names])
    return "\n".join(lines) + "\n" + ("" if AMD.is_installed else NO_AMD)


def machine() -> str:
    """The machine, in one line."""
    lines = CPU.read_text().splitlines() if CPU.exists() else []
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())
    memory = f", {int(MEMORY.read_text().split()[1]) / 1e6:.0f} GB" if MEMORY.exists() else ""
    scan = "numpy scan" if compiled is None else "compiled scan"
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()}, Python {platform.python_version()}, {scan}"


def section(log: Log, case: Case, cases: list[Case]) -> Iterator[str]:
    """The table of one trace and what it comes to."""
    size = case.size
    yield f"\n## {case.name} ({size / 1e6:.1f} MB, {case.zipped.stat().st_size / 1e6:.1f} MB as gzip)\n"
    yield "| | runs | s | processor s | MB/s | peak MB | peak / file |"
    yield "|---|---|---|---|---|---|---|"
    for subject in SUBJECTS:
        row = Row.of(log.of(case.name, subject.name))
        if row:
            times = f"{row.seconds:.2f} | {row.cpu_seconds:.2f} | {size / 1e6 / row.seconds:.1f}"
            memory = f"{row.peak_bytes / 1e6:.0f} | {row.peak_bytes / size:.2f}"
            yield f"| {subject.name} | {row.runs} | {times} | {memory} |"
        elif subject.is_installed:
            left = expected_seconds(log, case, cases, subject)
            why = f"over {LIMIT:.0f}" if log.of(case.name, subject.name) else f"about {left:.0f} expected"
            yield f"| {subject.name} | 0 | {why} | | | | |"
    yield ""
    yield from conclusions({subject: Row.of(log.of(case.name, subject.name)) for subject in SUBJECTS})


def conclusions(rows: dict[Subject, Row | None]) -> Iterator[str]:
    """Ratios of the seconds of a table, and what reading an event's arguments again takes."""
    compared = ((LOAD, HTA), (LOAD, ORJSON), (LOAD, JSON), (REPORT, HTA_REPORT), (REPORT, JSON))
    for one, other in compared:
        if (own := rows[one]) and (theirs := rows[other]):
            times = f"{theirs.seconds / own.seconds:.2f} ({theirs.cpu_seconds / own.cpu_seconds:.2f} by processor time)"
            yield f"- {other.name} takes {times} times as long as {one.name}."
    for one in (ZIPPED, BY_NUMPY, REPORT):
        if (own := rows[LOAD]) and (longer := rows[one]):
            times = f"{longer.seconds / own.seconds:.2f} ({longer.cpu_seconds / own.cpu_seconds:.2f} by processor time)"
            yield f"- {one.name} takes {times} times as long as {LOAD.name}."
    for name, one in (("plain", rows[LOAD]), ("gzip", rows[ZIPPED])):
        if one and one.again_ms:
            median, worst = one.again_ms
            yield f"- Arguments of one event again, {name}: median {median:.1f} ms, worst {worst:.1f} ms."


def flatness(log: Log, cases: list[Case]) -> Iterator[str]:
    """What one MB costs at each size."""
    yield "\n## Cost of one MB\n"
    yield "| | " + " | ".join(f"{case.name}, ms" for case in cases) + " | largest / smallest |"
    yield "|---" * (len(cases) + 2) + "|"
    for subject in (LOAD, ZIPPED, REPORT):
        rows = [Row.of(log.of(case.name, subject.name)) for case in cases]
        costs = [row.seconds / case.size * 1e9 for row, case in zip(rows, cases, strict=True) if row]
        if len(costs) == len(cases) and costs:
            shown = " | ".join(f"{cost:.1f}" for cost in costs)
            yield f"| {subject.name} | {shown} | {max(costs) / min(costs):.2f} |"
