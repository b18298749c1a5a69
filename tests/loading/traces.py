"""Raw trace files of any layout, and the comparison of loaded traces."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tracelens.loading import load_trace
from tracelens.loading.reader import SKIPPED
from tracelens.model.events import Events, Trace

HEAD = 200_000
"""Bytes of each real trace that are compared; later ones repeat the same kinds of event."""
HEADER = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}]}


def event(name: str = "aten::mm", ts: object = 100, dur: object = 10, **changes: object) -> dict[str, Any]:
    """One complete operator; `args` and any other key can be given."""
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": 8, "ts": ts, "dur": dur, **changes}


def call(name: str = "cudaLaunchKernel", correlation: int = 5, **changes: object) -> dict[str, Any]:
    """A launch call, 10 us after the trace begins."""
    args = {"correlation": correlation, "cbid": 211}
    return event(name, 10, 5, cat="cuda_runtime", args=args) | changes


def kernel(name: str = "gemm", correlation: int = 5, **args: object) -> dict[str, Any]:
    """The device work of a call, by its correlation."""
    place = {"device": 0, "stream": 7, "correlation": correlation, **args}
    return event(name, 20, 9, cat="kernel", pid=0, tid=place["stream"], args=place)


def kineto(events: Sequence[Mapping[str, Any] | str]) -> bytes:
    """The layout that Kineto prints; an event given as text is written as it is."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in events]
    body = ",\n  ".join(texts)
    head = json.dumps(HEADER)[1:-1]
    return f'{{\n  {head},\n  "traceEvents": [\n  {body}\n  ],\n  "traceName": "t.json"\n}}\n'.encode()


def load_bytes(data: bytes, folder: Path, name: str = "trace.json") -> Trace:
    """Load a file with these bytes."""
    path = folder / name
    path.write_bytes(data)
    return load_trace(path)


def load_events(events: Sequence[Mapping[str, Any] | str], folder: Path) -> Trace:
    """Load events written as Kineto does."""
    return load_bytes(kineto(events), folder)


def zipped(data: bytes) -> bytes:
    """Gzip without a time stamp."""
    return gzip.compress(data, mtime=0)


def columns_of(trace: Trace) -> dict[str, list[Any]]:
    """Every column with names and lanes spelled out, so that traces compare whatever their numbering."""
    events, lanes = trace.events, trace.lanes
    found = {column.name: getattr(events, column.name).tolist() for column in fields(Events)}
    found["name"] = [trace.names[name] for name in events.name]
    keys = list(zip(lanes.pid, lanes.tid, lanes.process, lanes.thread, strict=True))
    found["lane"] = [keys[lane] for lane in events.lane]
    for name, column in trace.args.items():
        values = [trace.names[value] for value in column.values] if column.is_text else column.values.tolist()
        found[name] = list(zip(column.rows.tolist(), values, strict=True))
    return found


def assert_same(left: Trace, right: Trace) -> None:
    """Both traces hold the same events, arguments, links and repairs."""
    mine, other = columns_of(left), columns_of(right)
    assert mine.keys() == other.keys()
    for name, values in mine.items():
        assert values == other[name], name
    assert left.base_ns == right.base_ns
    assert left.repairs == right.repairs
    for name in ("launch", "operator", "parent"):
        assert np.array_equal(getattr(left.links, name), getattr(right.links, name)), name


def assert_nothing_lost(trace: Trace, data: bytes) -> None:
    """Where a file is JSON, every element of its arrays of events is a row or was counted as unreadable."""
    wanted = _elements(data)
    assert wanted is None or len(trace.events) + sum(kinds(trace).get(kind, 0) for kind in SKIPPED) == wanted


def _elements(data: bytes) -> int | None:
    """Elements of the arrays of events in a JSON file, None if it is none."""
    try:
        document = json.loads(data.decode(), object_pairs_hook=tuple, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        return len(document)
    return sum(len(value) for key, value in document if key == "traceEvents" and isinstance(value, list))


def _no_json(constant: str) -> NoReturn:
    """Python reads NaN and Infinity, which are no JSON."""
    raise ValueError(constant)


def kinds(trace: Trace) -> dict[str, int]:
    """Repairs and how often each was made."""
    return {repair.kind: repair.count for repair in trace.repairs}


def launches(trace: Trace) -> list[int]:
    """Row of the launch of each device event."""
    return trace.links.launch[trace.events.device_work()].tolist()
