"""What the file says beside its events: devices, ranks, names, log lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracelens
from tests.loading.traces import HEADER, call, event, kernel, kinds, kineto, load_bytes

pytestmark = pytest.mark.usefixtures("either_scan")


def test_a_device_without_a_name(tmp_path: Path) -> None:
    data = kineto([kernel()]).replace(b'"NVIDIA A100"', b'""')
    assert [(device.id, device.name) for device in load_bytes(data, tmp_path).devices] == [(0, "")]


@pytest.mark.parametrize(
    ("distributed", "expected"),
    [({"rank": 3}, (3, None)), ({"rank": 1, "world_size": 8, "backend": "nccl"}, (1, 8)), (None, (None, None))],
)
def test_what_is_told_of_the_ranks(
    distributed: dict[str, Any] | None, expected: tuple[int | None, int | None], tmp_path: Path
) -> None:
    members = {**HEADER, "distributedInfo": distributed, "traceEvents": [call(), kernel()]}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(members))
    document = tracelens.report(path).document["trace"]
    assert (document["rank"], document["world_size"]) == expected


def test_brackets_and_quotes_in_the_trace_name(tmp_path: Path) -> None:
    data = kineto([event()]).replace(b'"t.json"', rb'"run [3] {a} \"b\".json", "z": 1')
    trace = load_bytes(data, tmp_path)
    assert trace.metadata["traceName"] == 'run [3] {a} "b".json'
    assert trace.metadata["z"] == 1
    assert len(trace.events) == 1


def test_unescaped_log_lines_behind_the_events(tmp_path: Path) -> None:
    log = b'"INFO": ["Dropped 12 records", "file "C:\\x" not found", ]'
    data = kineto([event()]).replace(b'"traceName"', log + b',\n  "traceName"')
    trace = load_bytes(data, tmp_path)
    assert len(trace.events) == 1
    assert trace.metadata["INFO"][0] == "Dropped 12 records"
    assert trace.metadata["traceName"] == "t.json"
    assert kinds(trace)["unescaped quotes"] == 1
