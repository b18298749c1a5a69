"""Time and memory of a whole report, imports included: python -m tests.bench.bench_report [TRACE] [--mb 20 250].

Repeats a real trace until it has each wanted size, runs `tracelens report` and, beside it, a bare load in a process of
its own, and prints medians: seconds, seconds of processor time (all that is comparable where other work shares the
machine), how many times the load both are, and peak resident memory over the file's size.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.traces import ROOT, SAMPLE, repeat_trace

ROUNDS: Final = {20: 5, 250: 3}
"""Runs per size in MB; other sizes take 3."""
COMMANDS: Final = {
    "python -c pass": ("-c", "pass"),
    "import tracelens.api": ("-c", "import tracelens.api"),
    "load": ("-c", "import sys; from tracelens.loading import load_trace; load_trace(sys.argv[1])"),
    "report": ("-m", "tracelens", "report"),
    "report --json": ("-m", "tracelens", "report", "--json"),
}
NEEDS_TRACE: Final = ("load", "report", "report --json")


@dataclass(frozen=True)
class Run:
    """Wall seconds, peak resident bytes and processor seconds of one process."""

    seconds: float
    peak_bytes: int
    cpu_seconds: float


def environment() -> dict[str, str]:
    """As an installed package starts: with compiled modules, whatever this shell says."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "tracelens-bench-modules"))}


def run(arguments: list[str]) -> Run:
    """Run Python with these arguments and wait for it."""
    begin = time.perf_counter()
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=environment())
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit {process.returncode}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Run(seconds, peak, usage.ru_utime + usage.ru_stime)


def print_table(path: Path, rounds: int) -> None:
    """One row per command: medians over the rounds, taken in turn."""
    size = path.stat().st_size
    runs: dict[str, list[Run]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            runs[name].append(run([*command, str(path)] if name in NEEDS_TRACE else [*command]))
    load = _median(runs["load"])
    print(f"{size / 1e6:.0f} MB, medians of {rounds}")
    print(f"{'command':22} {'s':>7} {'x load':>7} {'cpu s':>7} {'x load':>7} {'peak MB':>8} {'peak/file':>9}")
    for name, one in {name: _median(taken) for name, taken in runs.items()}.items():
        print(f"{name:22} {one.seconds:7.2f} {one.seconds / load.seconds:7.2f}", end=" ")
        print(f"{one.cpu_seconds:7.2f} {one.cpu_seconds / load.cpu_seconds:7.2f}", end=" ")
        print(f"{one.peak_bytes / 1e6:8.0f} {one.peak_bytes / size:9.2f}")


def _median(runs: list[Run]) -> Run:
    """Of each figure by itself."""
    figures = ([one.seconds for one in runs], [one.peak_bytes for one in runs], [one.cpu_seconds for one in runs])
    return Run(*map(statistics.median, figures))


def main() -> None:
    """Make a trace of each size and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--mb", type=float, nargs="+", default=[20, 250])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in options.mb:
            path = Path(folder, f"trace{megabytes:g}.json")
            repeat_trace(options.trace, path, int(megabytes * 1e6))
            run([*COMMANDS["report"], str(path)])  # compiles the modules
            print_table(path, ROUNDS.get(int(megabytes), 3))


if __name__ == "__main__":
    main()
