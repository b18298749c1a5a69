"""The whole table of speed and memory, as Markdown: python -m tests.bench [TRACE] [--mb 50 250 1000] [--write].

Repeats a real trace to each size. Every reader and every tool runs in a process of its own, in turn, so that all share
what else the machine does. With --write the table goes to tests/data/performance.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from tests.bench import bench_args, bench_load, bench_peers

TABLE: Final = bench_load.ROOT / "tests" / "data" / "performance.md"
CPU: Final = Path("/proc/cpuinfo")
LARGE: Final = 500
"""Megabytes beyond which what is slow runs once."""
NOTES: Final = f"""\
Written by `python -m tests.bench --write`. Medians of so many runs; beyond {LARGE} MB slow readers and the tools of
others run once. Imports count for the reports, not for the loads. The columns with an *x* say how many times the first
row's seconds a reader or tool takes. HolisticTraceAnalysis' load is its parser alone; its report is TraceAnalysis with
the breakdown of idle time. The tree of AMD's TraceLens is measured where it is installed: it comes from no registry
(the package of its name is another project).
"""


@dataclass(frozen=True)
class Row:
    """Medians of one reader or tool."""

    name: str
    runs: int
    seconds: float
    cpu_seconds: float
    peak_bytes: float

    @classmethod
    def of(cls, name: str, runs: list[bench_load.Measurement] | list[bench_peers.Run]) -> Row:
        """Of its runs."""
        seconds, used = [run.seconds for run in runs], [run.cpu_seconds for run in runs]
        peak = statistics.median(run.peak_bytes for run in runs)
        return cls(name, len(runs), statistics.median(seconds), statistics.median(used), peak)


def machine() -> str:
    """The machine, in one line."""
    lines = CPU.read_text().splitlines() if CPU.exists() else []
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.processor())
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def load_average() -> str:
    """What waits for a processor, where the system tells."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def table(rows: list[Row], size: int) -> Iterator[str]:
    """Lines of Markdown; the first row is what the others are compared with."""
    yield "| | runs | s | processor s | x s | x processor | MB/s | peak MB | peak / file |"
    yield "|---|---|---|---|---|---|---|---|---|"
    own = rows[0]
    for row in rows:
        times = f"{row.seconds / own.seconds:.2f} | {row.cpu_seconds / own.cpu_seconds:.2f}"
        figures = f"{size / 1e6 / row.seconds:.1f} | {row.peak_bytes / 1e6:.0f} | {row.peak_bytes / size:.2f}"
        yield f"| {row.name} | {row.runs} | {row.seconds:.2f} | {row.cpu_seconds:.2f} | {times} | {figures} |"


def section(source: Path, megabytes: float, rounds: int) -> Iterator[str]:
    """Both tables of one size, and what reading an event's arguments again takes."""
    before, slow = load_average(), 1 if megabytes > LARGE else rounds
    with tempfile.TemporaryDirectory() as folder:
        plain, zipped = bench_load.write_traces(source, Path(folder), megabytes)
        size = plain.stat().st_size
        loads = [
            Row.of(f"load: {name}", runs) for name, runs in bench_load.measure_all(plain, zipped, rounds, slow).items()
        ]
        tools = [Row.of(name, runs) for name, runs in bench_peers.run_all(plain, rounds, slow).items()]
        # Apart, since a process that is started counts the peak memory of the one that starts it.
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            again = {path.suffix: apart.submit(bench_args.milliseconds, path).result() for path in (plain, zipped)}
    yield f"\n## {size / 1e6:.0f} MB, {rounds} rounds, load average {before} before and {load_average()} after\n"
    yield from table(loads, size)
    yield ""
    yield from table(tools, size)
    yield f"\n`tracelens report` takes {tools[0].seconds / loads[0].seconds:.2f} times as long as the load.\n"
    for suffix, (clock, used) in again.items():
        figures = f"median {statistics.median(clock):.1f} ms, worst {max(clock):.1f} ms (processor {max(used):.1f} ms)"
        yield f"Arguments of one event again, {suffix}: {figures}."


def main() -> None:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("trace", nargs="?", type=Path, default=bench_load.SAMPLE)
    parser.add_argument("--mb", type=float, nargs="+", default=[50, 250, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"to {TABLE.relative_to(bench_load.ROOT)}")
    options = parser.parse_args()
    lines = ["# Speed and memory of loading and of the report\n", f"{machine()}.\n", NOTES]
    for megabytes in options.mb:
        lines += section(options.trace, megabytes, options.rounds)
    text = "\n".join(lines) + "\n"
    print(text)
    if options.write:
        TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
