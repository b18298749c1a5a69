"""Time and memory of a whole report beside what other tools do: python -m tests.bench.bench_peers [TRACE] [--mb 50].

Repeats a real trace to the wanted size and gives it to each tool in a process of its own, imports included, in turn.
Prints medians: seconds by the clock and by the processor, how many times the latter of `tracelens report`, and the peak
of resident memory over the file's size.

HolisticTraceAnalysis loads the trace and breaks down its idle time, which is the nearest that it has to the account of
a step. AMD's TraceLens builds its tree; it comes from its repository alone (the package of that name is another
project), and is left out where it is not installed. json.loads reads the file and does nothing with it.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
from pathlib import Path
from typing import Final

from tests.bench.bench_load import SAMPLE, repeat_trace
from tests.bench.bench_report import Run, run

ROUNDS: Final = 3
OWN: Final = "tracelens report"
TOOLS: Final = {
    OWN: ("", "import sys; from tracelens.__main__ import main; sys.argv[1:1] = ['report']; main()"),
    "HolisticTraceAnalysis": (
        "hta",
        "import os, sys; from hta.trace_analysis import TraceAnalysis; path = sys.argv[1]; "
        "analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path)); "
        "analysis.get_idle_time_breakdown(ranks=[0], visualize=False)",
    ),
    "tracelens report --json": (
        "",
        "import sys; from tracelens.__main__ import main; sys.argv[1:1] = ['report', '--json']; main()",
    ),
    "AMD TraceLens, tree": (
        "TraceLens",
        "import sys; from TraceLens.TreePerf import TreePerfAnalyzer; TreePerfAnalyzer.from_file(sys.argv[1])",
    ),
    "json.loads": ("", "import json, sys; json.loads(open(sys.argv[1], 'rb').read())"),
}
"""Name -> the module it needs, and the program that gets the trace."""


def print_table(size: int, runs: dict[str, list[Run]]) -> None:
    """One row per tool: medians of its runs."""
    own = statistics.median(one.cpu_seconds for one in runs[OWN])
    print(f"{size / 1e6:.0f} MB, medians of {len(runs[OWN])}")
    print(f"{'tool':24} {'seconds':>8} {'processor':>9} {'x own':>7} {'peak MB':>8} {'peak/file':>9}")
    for name, measured in runs.items():
        seconds = statistics.median(one.seconds for one in measured)
        used = statistics.median(one.cpu_seconds for one in measured)
        peak = statistics.median(one.peak_bytes for one in measured)
        print(f"{name:24} {seconds:8.2f} {used:9.2f} {used / own:7.1f} {peak / 1e6:8.0f} {peak / size:9.2f}")


def main() -> None:
    """Make the trace, run everyone in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--mb", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        repeat_trace(options.trace, path, int(options.mb * 1e6))
        runs = run_all(path, options.rounds, options.rounds)
        print_table(path.stat().st_size, runs)
    for name in TOOLS.keys() - runs.keys():
        print(f"{name} is not installed")


def run_all(path: Path, rounds: int, others_rounds: int) -> dict[str, list[Run]]:
    """Every tool that is installed, in turn; those of others only in the first rounds."""
    tools = {name: code for name, (needs, code) in TOOLS.items() if not needs or importlib.util.find_spec(needs)}
    runs: dict[str, list[Run]] = {name: [] for name in tools}
    for number in range(rounds):
        now = tools if number < others_rounds else {name: code for name, code in tools.items() if OWN in name}
        for name, code in now.items():
            runs[name].append(run(["-c", code, str(path)]))
    return runs


if __name__ == "__main__":
    main()
