"""Every reference trace ends in an exact document or a one-line refusal."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.reference import reference_traces
from tracelens.__main__ import main

WORK = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "concurrent_kernel", "mtia_ccp_events"}
UNJUDGED = {3, 4}


def run(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, document (empty for a refusal) and diagnostics of `report PATH --json`."""
    code = main(["report", str(path), "--json", *options])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


def device_spans(path: Path, device: int) -> list[tuple[int, int]]:
    """Start and end in ns of each device event, read without the product's loader."""
    data = path.read_bytes()
    content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=str)
    events = content if isinstance(content, list) else content["traceEvents"]
    work = [event for event in events if event.get("ph") == "X" and str(event.get("cat")).lower() in WORK]
    here = [event for event in work if int((event.get("args") or {}).get("device", event["pid"])) == device]
    times = [(Decimal(event["ts"]) * 1000, Decimal(event["dur"]) * 1000) for event in here]
    return [(int(start), int(start + duration)) for start, duration in times]


def busy_within(spans: list[tuple[int, int]], tiles: list[list[int]]) -> int:
    """Length of the union of the spans inside disjoint tiles, one pass per tile."""
    total = 0
    for begin, finish in tiles:
        reached = begin
        for start, end in sorted(spans):
            if end > reached and start < finish:
                total += min(end, finish) - max(start, reached)
                reached = max(reached, min(end, finish))
    return total


@pytest.mark.parametrize("path", reference_traces("public", "broken", "h200"), ids=lambda path: path.name)
def test_every_reference_trace_ends_well(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans: list[tuple[int, int]] | None = None
    for options in ([], ["--range", "all"]):
        code, document, diagnostics = run(path, capsys, *options)
        assert code == 0 or code in UNJUDGED
        if code == 3:
            assert len(diagnostics.strip().splitlines()) == 1
            continue
        check_sums(document)
        if code == 0 and path.parent.name != "broken":
            window = document["window"]
            spans = device_spans(path, window["device"]) if spans is None else spans
            busy = busy_within(spans, window["intervals_ns"])
            assert document["attribution"]["classes"]["kernel"]["ns"] == busy


def check_sums(document: dict[str, Any]) -> None:
    """Parts make up classes, classes the window, and the window its tiles, to the ns."""
    attribution = document["attribution"]
    classes = attribution["classes"].values()
    assert all(group["ns"] == sum(group["parts"].values()) for group in classes)
    tiles = document["window"]["intervals_ns"]
    assert sum(group["ns"] for group in classes) == attribution["window_ns"] == sum(end - start for start, end in tiles)
