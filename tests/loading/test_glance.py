"""What is told of a trace without reading it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.build import TraceBuilder
from tracelens.loading.glance import told

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def test_a_captured_trace_tells_form_step_and_device() -> None:
    assert told(SAMPLES / "host_bound" / "eager.pt.trace.json.gz") == "2.51 ms a step, eager, NVIDIA H200"


def test_a_run_tells_the_steps_of_its_forms() -> None:
    assert told(SAMPLES / "host_bound") == "eager 2.51, compile 3.29, replay 0.51, both 0.48 ms a step"
    assert "replay -" in told(SAMPLES / "sync_points")


def test_any_other_trace_tells_its_device(tmp_path: Path) -> None:
    path = TraceBuilder().kernel("gemm", start=0, dur=1).device_name(0, "NVIDIA A100").write(tmp_path / "a.json")
    assert told(path) == "NVIDIA A100"


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08", b"{", gzip.compress(b"[]", mtime=0)[:-9], b"\xff\xfe"])
def test_what_is_no_trace_tells_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    assert told(path) == ""
    assert told(tmp_path / "missing.json") == ""


def test_a_damaged_run_tells_nothing(tmp_path: Path) -> None:
    for content in ("{", json.dumps({"forms": []})):
        (tmp_path / "run.json").write_text(content)
        assert told(tmp_path) == ""
