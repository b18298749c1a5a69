"""Does an event cost the same in ever larger crowds? python -m tests.bench.bench_crowded [--frames 50000 ...].

Writes traces of many threads, Python frames, streams and devices, loads them and reports on them, each in a process of
its own, and prints microseconds an event and the peak of resident memory an event, beside a bare interpreter's.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests import crowded
from tests.bench.bench_report import COMMANDS, run

ROUNDS = 3


def main() -> None:
    """Print one row per size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", nargs="+", type=int, default=[50_000, 100_000, 200_000, 400_000])
    options = parser.parse_args()
    print(f"{'frames':>8} {'events':>8} {'MB':>5}  load us/event  report us/event  load B/event  report B/event")
    for frames in options.frames:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace.json")
            events = crowded.write(path, max(1, frames // crowded.FRAMES_PER_LAUNCH // crowded.LAUNCHES_PER_STEP))
            cost = {name: _cost(name, path, events) for name in ("load", "report")}
            size = path.stat().st_size / 1e6
        seconds, memory = zip(*cost.values(), strict=True)
        times, sizes = f"{seconds[0]:13.2f}  {seconds[1]:15.2f}", f"{memory[0]:12.0f}  {memory[1]:14.0f}"
        print(f"{frames:8} {events:8} {size:5.0f}  {times}  {sizes}", flush=True)


def _cost(name: str, path: Path, events: int) -> tuple[float, float]:
    """Microseconds and bytes an event, beyond what an import costs: the least of the rounds."""
    idle = min((run([*COMMANDS["import tracelens.api"]]) for _ in range(ROUNDS)), key=lambda one: one.seconds)
    runs = [run([*COMMANDS[name], str(path)]) for _ in range(ROUNDS)]
    seconds, peak = min(one.seconds for one in runs), min(one.peak_bytes for one in runs)
    return (seconds - idle.seconds) / events * 1e6, (peak - idle.peak_bytes) / events


if __name__ == "__main__":
    main()
