"""Time to read one event's arguments again: python -m tests.bench.bench_args [TRACE] [--mb 250].

Repeats a real trace to the wanted size, loads it plain and compressed, and reads the arguments of events all over the
file. Prints the median and the worst, in ms of the clock and of the processor.
"""

from __future__ import annotations

import argparse
import gzip
import random
import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.bench_load import SAMPLE, repeat_trace
from tracelens.loading import load_trace
from tracelens.loading.reread import event_args

EVENTS = 200


def main() -> None:
    """Print one row per file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--mb", type=float, default=250)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain, zipped = Path(folder, "trace.json"), Path(folder, "trace.json.gz")
        repeat_trace(options.trace, plain, int(options.mb * 1e6))
        zipped.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=6, mtime=0))
        for path in (plain, zipped):
            for clock, times in zip(("clock", "processor"), milliseconds(path), strict=True):
                print(f"{path.name:14} {clock:10} median {statistics.median(times):6.2f}, worst {max(times):6.2f}")


def milliseconds(path: Path) -> tuple[list[float], list[float]]:
    """Time of each of some events, chosen by chance, by the clock and by the processor's."""
    trace = load_trace(path)
    chance = random.Random(1)
    clock: list[float] = []
    processor: list[float] = []
    for row in (chance.randrange(len(trace.events)) for _ in range(EVENTS)):
        begin, used = time.perf_counter(), time.process_time()
        event_args(trace, row)
        clock.append((time.perf_counter() - begin) * 1e3)
        processor.append((time.process_time() - used) * 1e3)
    return clock, processor


if __name__ == "__main__":
    main()
