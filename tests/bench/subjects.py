"""What is measured, each run in a process of its own: readers of a trace, and tools that work on it.

`python -m tests.bench.subjects NAME PATH STARTED` runs one and prints its figures as JSON; STARTED is the time at
which the process was started.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from tracelens.model.events import Trace

STATUS: Final = Path("/proc/self/status")
EVENTS_READ_AGAIN: Final = 200


@dataclass(frozen=True)
class Subject:
    """One reader or tool."""

    name: str
    start: Callable[[], Callable[[str], object]]
    """Imports what it needs and gives what is run on a file then."""
    own: bool = False
    zipped: bool = False
    """Whether it gets the compressed trace."""
    is_command: bool = False
    """Whether starting Python and importing count."""
    needs: str = ""
    """The module without which it cannot run."""

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None


def _load() -> Callable[[str], object]:
    from tracelens.loading import load_trace

    return load_trace


def _load_by_numpy() -> Callable[[str], object]:
    from tracelens.loading import load_trace, plain

    plain.compiled = None
    return load_trace


def _report() -> Callable[[str], object]:
    from tracelens.__main__ import main

    def report(path: str) -> int:
        return main(["report", path])  # without its own end, which leaves no time to print what it took

    return report


def _json() -> Callable[[str], object]:
    return lambda path: json.loads(Path(path).read_bytes())


def _orjson() -> Callable[[str], object]:
    import orjson

    gc.disable()
    return lambda path: orjson.loads(Path(path).read_bytes())


def _hta_parser() -> Callable[[str], object]:
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig

    return lambda path: parse_trace_dataframe(path, ParserConfig.get_default_cfg())


def _hta_report() -> Callable[[str], object]:
    from hta.trace_analysis import TraceAnalysis

    def report(path: str) -> object:
        analysis = TraceAnalysis(trace_files={0: path}, trace_dir=str(Path(path).parent))
        return analysis.get_idle_time_breakdown(ranks=[0], visualize=False)

    return report


def _amd_tree() -> Callable[[str], object]:
    from TraceLens.TreePerf import TreePerfAnalyzer

    return TreePerfAnalyzer.from_file


LOAD: Final = Subject("tracelens, load", _load, own=True)
ZIPPED: Final = Subject("tracelens, load of gzip", _load, own=True, zipped=True)
REPORT: Final = Subject("tracelens report", _report, own=True, is_command=True)
BY_NUMPY: Final = Subject("tracelens, load by numpy alone", _load_by_numpy, needs="tracelens.loading._plain")
ORJSON: Final = Subject("orjson.loads, gc off", _orjson, needs="orjson")
JSON: Final = Subject("json.loads", _json)
HTA: Final = Subject("HolisticTraceAnalysis, parser", _hta_parser, needs="hta")
HTA_REPORT: Final = Subject("HolisticTraceAnalysis, idle time", _hta_report, is_command=True, needs="hta")
AMD: Final = Subject("AMD TraceLens, tree", _amd_tree, is_command=True, needs="TraceLens")
SUBJECTS: Final = (LOAD, ZIPPED, BY_NUMPY, ORJSON, JSON, HTA, REPORT, HTA_REPORT, AMD)


def main() -> None:
    """Run one subject and print what it took."""
    name, path, started = sys.argv[1:]
    subject = next(one for one in SUBJECTS if one.name == name)
    run = subject.start()
    begin, used = (float(started), 0.0) if subject.is_command else (time.time(), _processor_seconds())
    result = run(path)
    figures = {"seconds": time.time() - begin, "cpu_seconds": _processor_seconds() - used, "peak_bytes": peak_bytes()}
    again = read_again(cast("Trace", result)) if subject in (LOAD, ZIPPED) else []
    print("\n" + json.dumps(figures | {"again_ms": again}))


def read_again(trace: Trace) -> list[float]:
    """Median and worst time in ms to read one event's arguments again, of some events all over the file."""
    from tracelens.loading.reread import event_args

    chance = random.Random(1)
    times: list[float] = []
    for row in (chance.randrange(len(trace.events)) for _ in range(EVENTS_READ_AGAIN)):
        begin = time.perf_counter()
        event_args(trace, row)
        times.append((time.perf_counter() - begin) * 1e3)
    return [statistics.median(times), max(times)]


def _processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_bytes() -> int:
    """Most memory that this process has held, or one that it has waited for."""
    unit = 1 if sys.platform == "darwin" else 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    if not STATUS.exists():
        return max(children, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
    # Linux counts in getrusage the memory of the process which started this one, too.
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return max(children, int(lines["VmHWM"].split()[0]) * 1024)


if __name__ == "__main__":
    main()
