"""Does an event cost the same in ever larger crowds? python -m tests.bench.bench_crowded [--frames 50000 ...].

Writes traces of many threads, Python frames, streams and devices, loads them and reports on them, each in a process of
its own. Prints the least processor seconds and peak resident memory of three runs, and what each event more than in the
row above has cost.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import crowded
from tests.bench.bench_report import COMMANDS, run

ROUNDS = 3


@dataclass(frozen=True)
class Cost:
    """Of one size: events, and seconds and bytes by command."""

    events: int
    seconds: dict[str, float]
    peak_bytes: dict[str, int]


def cost_of(frames: int) -> Cost:
    """Write a trace with so many frames and run the commands on it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        events = crowded.write(path, max(1, frames // crowded.FRAMES_PER_LAUNCH // crowded.LAUNCHES_PER_STEP))
        runs = {name: [run([*COMMANDS[name], str(path)]) for _ in range(ROUNDS)] for name in ("load", "report")}
    seconds = {name: min(one.cpu_seconds for one in several) for name, several in runs.items()}
    return Cost(events, seconds, {name: min(one.peak_bytes for one in several) for name, several in runs.items()})


def print_row(name: str, cost: Cost, before: Cost | None) -> None:
    """One command at one size."""
    text = f"{cost.events:8} {name:7} {cost.seconds[name]:8.2f} {cost.peak_bytes[name] / 1e6:8.0f}"
    if before:
        more = cost.events - before.events
        microseconds = (cost.seconds[name] - before.seconds[name]) / more * 1e6
        text += f" {microseconds:9.2f} {(cost.peak_bytes[name] - before.peak_bytes[name]) / more:8.0f}"
    print(text, flush=True)


def main() -> None:
    """Print two rows per size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", nargs="+", type=int, default=[50_000, 100_000, 200_000, 400_000])
    options = parser.parse_args()
    print(f"{'events':>8} {'':7} {'seconds':>8} {'peak MB':>8} {'us/event':>9} {'B/event':>8}")
    before = None
    for frames in options.frames:
        cost = cost_of(frames)
        for name in cost.seconds:
            print_row(name, cost, before)
        before = cost


if __name__ == "__main__":
    main()
