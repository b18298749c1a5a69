"""Random damage to real traces: each is cut anywhere and has any byte flipped, plain and compressed.

Of each only some kilobytes of events are taken, from all over it, so that thousands of files can be tried. A file must
end in a trace or in a one-line refusal. A cut keeps every event before it with the columns of the whole file; what is
no JSON any more, or fails its checksum, is named among the repairs.
"""

from __future__ import annotations

import gzip
import random
import time
import zlib
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

import tracelens
from tests.fuzz.watch import Watch
from tests.reference import reference_traces
from tracelens.errors import TraceLensError
from tracelens.loading import load_trace
from tracelens.model.events import Events, Trace

ROOT: Final = Path(__file__).parent.parent.parent
TRACES: Final = 20
SAMPLE: Final = 8000
"""Bytes of events that are taken of each."""
REPORT_EVERY: Final = 50


def traces(count: int = TRACES) -> list[Path]:
    """Traces of the reference set, of all sizes alike, else the samples, that load whole."""
    found = [*reference_traces("public", "h200"), *sorted((ROOT / "sample_traces").rglob("*.json.gz"))]
    whole = [path for path in sorted(found, key=lambda path: path.stat().st_size) if _loads(path)]
    return [whole[number * len(whole) // count] for number in range(count)] if len(whole) > count else whole


def sample(path: Path) -> bytes:
    """A trace with some of its events, from all over it; all else as it is."""
    plain, events = content(path), load_trace(path).events
    count = min(max(1, SAMPLE // int(np.median(events.length))), len(events))
    rows = np.linspace(0, len(events) - 1, count).astype(np.int64)
    starts, ends = events.offset[rows], events.offset[rows] + events.length[rows]
    texts = [plain[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return plain[: starts[0]] + b",\n  ".join(texts) + plain[ends[-1] :]


def content(path: Path) -> bytes:
    """The JSON of a trace."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _loads(path: Path) -> bool:
    try:
        trace = load_trace(path)
    except TraceLensError:
        return False
    return len(trace.events) > 0 and trace.source.decoded_size > SAMPLE and not trace.repairs


def fuzz(keep: Path | None, each: int, seconds: float, seed: int, folder: Path, sources: list[Path]) -> Watch:
    """Cut each trace `each` times and flip a byte as often, half of them compressed, or until the time is over."""
    watch, end = Watch(keep), time.monotonic() + (seconds or float("inf"))
    for source in sources:
        chance = random.Random(f"{seed} {source.name}")
        victim = _Victim(sample(source), folder)
        for number in range(2 * each):
            if time.monotonic() > end:
                return watch
            cut = bool(number % 2)
            data = victim.damaged(cut, chance)
            watch.run(data, partial(victim.check, cut, number))
    return watch


class _Victim:
    """A trace, plain and compressed, and what it holds when whole."""

    def __init__(self, plain: bytes, folder: Path) -> None:
        self._files = {folder / "trace.json": plain, folder / "trace.json.gz": gzip.compress(plain, 1, mtime=0)}
        self._path = next(iter(self._files))
        self._path.write_bytes(plain)
        self._whole = load_trace(self._path)

    def damaged(self, cut: bool, chance: random.Random) -> bytes:
        """Write one of the files with damage."""
        self._path, data = chance.choice(list(self._files.items()))
        damaged = (_cut if cut else _flip)(data, chance)
        self._path.write_bytes(damaged)
        return damaged

    def check(self, cut: bool, number: int) -> None:
        """Load what was written."""
        trace = load_trace(self._path)
        if cut:
            assert_head(trace, self._whole)
        assert trace.repairs or len(trace.events) == len(self._whole.events), "events vanished"
        assert trace.repairs or _sound(self._path.read_bytes()), "damage is not named"
        if number % REPORT_EVERY < 2:
            tracelens.report(tracelens.load(self._path)).to_text()


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :]


def assert_head(trace: Trace, whole: Trace) -> None:
    """The events of a cut trace are those that end before the cut, with the columns of the whole one."""
    kept = int(np.searchsorted(whole.events.offset + whole.events.length, trace.source.decoded_size, side="right"))
    assert len(trace.events) == kept, f"{len(trace.events)} of {kept} events before the cut"
    for name, (mine, theirs) in _comparable(trace, whole, kept).items():
        assert np.array_equal(mine, theirs), name


Pair: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def _comparable(trace: Trace, whole: Trace, kept: int) -> dict[str, Pair]:
    """Columns of both as far as the shorter goes, with texts for numbers and times on the file's own clock."""
    base = max(trace.base_ns, whole.base_ns)
    pairs: dict[str, Pair] = {}
    for column in fields(Events):
        mine, theirs = getattr(trace.events, column.name), getattr(whole.events, column.name)[:kept]
        if column.name == "name":
            mine, theirs = _texts(trace, mine), _texts(whole, theirs)
        elif column.name == "lane":
            mine, theirs = _lanes(trace)[mine], _lanes(whole)[theirs]
        elif column.name == "start":
            mine, theirs = np.maximum(mine + trace.base_ns, base), np.maximum(theirs + whole.base_ns, base)
        pairs[column.name] = mine, theirs
    for name in whole.args:
        pairs[name] = _sparse(trace, name, kept), _sparse(whole, name, kept)
    return pairs


def _texts(trace: Trace, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([*trace.names, ""], dtype=object)[numbers]


def _lanes(trace: Trace) -> npt.NDArray[Any]:
    return np.array([f"{pid}\0{tid}" for pid, tid in zip(trace.lanes.pid, trace.lanes.tid, strict=True)] or [""])


def _sparse(trace: Trace, name: str, kept: int) -> npt.NDArray[Any]:
    """Rows and values of a column, one above the other."""
    column = trace.args.get(name)
    if column is None:
        return np.empty((2, 0), dtype=object)
    count = int(np.searchsorted(column.rows, kept))
    values = column.values[:count]
    return np.array([column.rows[:count], _texts(trace, values) if column.is_text else values], dtype=object)


def _sound(data: bytes) -> bool:
    """Whether a file is what it should be: JSON, and whole if it is compressed."""
    try:
        orjson.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (orjson.JSONDecodeError, OSError, EOFError, zlib.error):
        return False
    return True
