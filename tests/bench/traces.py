"""The traces that are measured: a real one repeated to any size, and one of many names.

Each is made once, in a folder that stays: later runs take it from there.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
SAMPLE: Final = ROOT / "sample_traces" / "host_bound" / "eager.pt.trace.json.gz"
FOLDER: Final = Path(tempfile.gettempdir(), "tracelens-bench")
MANY_NAMES: Final = 400_000
ID_STEP: Final = 10_000_000
SHIFTED: Final = re.compile(r'("(ts|correlation|External id|id|Ev Idx|Python id|Python parent id)": )(\d+)')
LAUNCH: Final = (
    '{{"ph": "X", "cat": "cpu_op", "name": "op{n}", "pid": 1, "tid": 1, "ts": {at}.125, "dur": 8.5,'
    ' "args": {{"External id": {n}}}}},\n'
    '{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {at}.25, "dur": 4,'
    ' "args": {{"External id": {n}, "correlation": {n}}}}},\n'
    '{{"ph": "X", "cat": "kernel", "name": "kernel{n}", "pid": 0, "tid": 7, "ts": {at}.5, "dur": 2,'
    ' "args": {{"External id": {n}, "correlation": {n}, "device": 0, "stream": 7}}}}'
)


@dataclass(frozen=True)
class Case:
    """One trace, plain and compressed."""

    name: str
    plain: Path
    zipped: Path
    is_of_names: bool = False
    """Whether it shows what names cost, and nothing about size."""

    @property
    def size(self) -> int:
        """Bytes of the JSON."""
        return self.plain.stat().st_size


def of_size(source: Path, megabytes: float) -> Case:
    """The trace `source`, repeated to about this size."""
    stem = f"{source.parent.name}-{source.name.split('.')[0]}-{source.stat().st_size}-{megabytes:g}"
    case = Case(f"{megabytes:g} MB", FOLDER / f"{stem}.json", FOLDER / f"{stem}.json.gz")
    return _made(case, lambda path: repeat_trace(source, path, int(megabytes * 1e6)))


def of_many_names() -> Case:
    """A trace of 400,000 distinct names."""
    plain = FOLDER / f"names-{MANY_NAMES}.json"
    return _made(Case(f"{MANY_NAMES:,} names", plain, plain.with_suffix(".json.gz"), is_of_names=True), write_names)


def _made(case: Case, write: Callable[[Path], None]) -> Case:
    """The case, its files written unless they are there."""
    FOLDER.mkdir(exist_ok=True)
    if not case.plain.exists():
        _whole(case.plain, write)
    if not case.zipped.exists():
        _whole(case.zipped, lambda path: _compress(case.plain, path))
    return case


def _whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file that is there only once it is complete."""
    part = path.with_name(f"{path.name}.part")
    write(part)
    part.replace(path)


def _compress(plain: Path, zipped: Path) -> None:
    with plain.open("rb") as text, gzip.open(zipped, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(text, packed, 1 << 20)


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
    step = span if found[2] == "ts" else ID_STEP
    return f"{found[1]}{int(found[3]) + number * step}"


def write_names(target: Path) -> None:
    """Write a trace of 400,000 names: operators that launch one kernel each, no two named alike."""
    with target.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [\n')
        file.write(",\n".join(LAUNCH.format(n=n, at=1000 + 10 * n) for n in range(MANY_NAMES // 2)))
        file.write("\n]}\n")
