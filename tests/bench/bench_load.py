"""Speed and memory of loading beside other readers, in one run: python -m tests.bench.bench_load [TRACE] [--mb 250].

Repeats a real trace, times and ids shifted, until it has the wanted size, and reads it with each reader in a process of
its own, three times in turn. Prints medians: MB of uncompressed JSON per second, how many times the speed
of HolisticTraceAnalysis that is, and the peak of resident memory over the size of the file.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib.util
import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
SAMPLE: Final = ROOT / "sample_traces" / "host_bound" / "eager.pt.trace.json.gz"
STATUS: Final = Path("/proc/self/status")
ROUNDS: Final = 3
ID_STEP: Final = 10_000_000
SHIFTED: Final = re.compile(r'"(ts|correlation|External id|id|Ev Idx|Python id|Python parent id)": (\d+)')
PEER: Final = "HolisticTraceAnalysis"


def repeat_trace(source: Path, target: Path, size: int) -> None:
    """Write a trace of about `size` bytes: the events of `source` again and again, each time later and with new ids."""
    text = (gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()).decode()
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    events = text[begin:end].rstrip()
    times = [float(time) for time in re.findall(r'"ts": ([\d.]+)', events)]
    span = int(max(times) - min(times)) + 1000
    with target.open("w", encoding="utf-8") as file:
        file.write(text[:begin])
        for number in range(max(1, round(size / len(events)))):
            file.write("," * bool(number) + SHIFTED.sub(lambda found, n=number: _shifted(found, n, span), events))
        file.write("\n  " + text[end:])


def _shifted(found: re.Match[str], number: int, span: int) -> str:
    step = span if found[1] == "ts" else ID_STEP
    return f'"{found[1]}": {int(found[2]) + number * step}'


def tracelens_reader() -> Callable[[str], object]:
    from tracelens.loading import load_trace

    return load_trace


def json_reader() -> Callable[[str], object]:
    return lambda path: json.loads(Path(path).read_bytes())


def orjson_reader() -> Callable[[str], object]:
    import orjson

    gc.disable()
    return lambda path: orjson.loads(Path(path).read_bytes())


def peer_reader() -> Callable[[str], object]:
    """Its parser alone: what it does next takes time quadratic in the steps of a repeated trace."""
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig

    return lambda path: parse_trace_dataframe(path, ParserConfig.get_default_cfg())


READERS: Final[dict[str, Callable[[], Callable[[str], object]]]] = {
    "tracelens": tracelens_reader,
    "tracelens, gzip": tracelens_reader,
    "json.loads": json_reader,
    "orjson.loads, gc off": orjson_reader,
    PEER: peer_reader,
}
"""Name -> function that imports what the reader needs and gives it."""
SLOW: Final = ("json.loads", PEER)


@dataclass(frozen=True)
class Measurement:
    """One run of one reader."""

    seconds: float
    cpu_seconds: float
    """Of all threads: what is left to compare by where other work shares the machine."""
    peak_bytes: int


def measure(name: str, path: Path) -> Measurement:
    """Run a reader on a file in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.bench_load", "--measure", name, str(path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, used, peak = ran.stdout.split()[-3:]
    return Measurement(float(seconds), float(used), int(peak))


def measure_here(name: str, path: str) -> None:
    """Print the seconds that a reader takes by the clock and by the processor, imports left out, and the peak memory
    of this process in bytes."""
    read = READERS[name]()
    begin, used = time.perf_counter(), time.process_time()
    read(path)
    print(time.perf_counter() - begin, time.process_time() - used, peak_bytes())


def peak_bytes() -> int:
    """Most memory that this process has held. Linux counts in getrusage that of the process which started it, too."""
    if STATUS.exists():
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def print_table(size: int, measured: dict[str, list[Measurement]]) -> None:
    """One row per reader: medians of its runs."""
    seconds = {name: statistics.median(run.seconds for run in runs) for name, runs in measured.items()}
    peer = seconds.get(PEER)
    print(f"{size / 1e6:.0f} MB, medians of {ROUNDS}")
    print(f"{'reader':24} {'MB/s':>7} {'x peer':>7} {'peak MB':>8} {'peak/file':>9}")
    for name, runs in measured.items():
        peak = statistics.median(run.peak_bytes for run in runs)
        times = f"{peer / seconds[name]:7.1f}" if peer else f"{'-':>7}"
        print(f"{name:24} {size / 1e6 / seconds[name]:7.1f} {times} {peak / 1e6:8.0f} {peak / size:9.2f}")
    if not peer:
        print(f"{PEER} is not installed: pip install torch-tracelens[bench]")


def main() -> None:
    """Make the trace, run everyone in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--mb", type=float, default=250)
    parser.add_argument("--measure", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure_here(*options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        plain, zipped = write_traces(options.trace, Path(folder), options.mb)
        print_table(plain.stat().st_size, measure_all(plain, zipped, ROUNDS, ROUNDS))


def write_traces(source: Path, folder: Path, megabytes: float) -> tuple[Path, Path]:
    """A trace of this size, plain and compressed."""
    plain, zipped = folder / "trace.json", folder / "trace.json.gz"
    repeat_trace(source, plain, int(megabytes * 1e6))
    with plain.open("rb") as text, gzip.open(zipped, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(text, packed)
    return plain, zipped


def measure_all(plain: Path, zipped: Path, rounds: int, slow_rounds: int) -> dict[str, list[Measurement]]:
    """Every reader that is installed, in turn; the slow ones only in the first rounds."""
    readers = [name for name in READERS if name != PEER or importlib.util.find_spec("hta")]
    measured: dict[str, list[Measurement]] = {name: [] for name in readers}
    for number in range(rounds):
        for name in readers if number < slow_rounds else [name for name in readers if name not in SLOW]:
            measured[name].append(measure(name, zipped if name.endswith("gzip") else plain))
    return measured


if __name__ == "__main__":
    main()
