"""Decoding many events at once, in either way, gives exactly what decoding one at a time gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loading.anything import EVENTS, LAYOUTS, QUIET
from tests.loading.stepwise import StepwiseDecoder
from tests.loading.traces import HEAD, HEADER, assert_same, load_bytes
from tests.reference import reference_traces
from tracelens.loading import load, load_trace
from tracelens.loading.inflate import GZIP_MAGIC
from tracelens.model.events import Trace

pytestmark = pytest.mark.usefixtures("either_scan")


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Trace, Trace]:
    """The trace by the vectorised decoder, and by the stepwise one."""
    fast = load_trace(path)
    with monkeypatch.context() as patch:
        patch.setattr(load, "Scanner", StepwiseDecoder)
        return fast, load_trace(path)


@QUIET
@given(events=st.lists(EVENTS, min_size=1, max_size=8), layout=LAYOUTS)
def test_any_event_is_decoded_alike(
    events: list[dict[str, Any]], layout: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    anchor = {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    path.write_text(json.dumps({**HEADER, "traceEvents": [anchor, *events]}, **layout), encoding="utf-8")
    fast, slow = both(path, monkeypatch)
    assert len(fast.events) == 1 + sum(one["ph"] != "" for one in events)
    assert_same(fast, slow)


@pytest.mark.parametrize("path", reference_traces("broken"), ids=lambda path: path.name)
def test_damaged_traces_are_decoded_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(*both(path, monkeypatch))


@pytest.mark.parametrize("path", reference_traces("public", "h200"), ids=lambda path: path.name)
def test_the_head_of_real_traces_is_decoded_alike(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = path.read_bytes()
    head = (gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data)[:HEAD]
    if b"rocprofiler-sdk-tool" in head:
        pytest.skip("no trace")
    cut = tmp_path / "trace.json"
    cut.write_bytes(head)
    assert_same(*both(cut, monkeypatch))


def test_events_across_slabs_are_decoded_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": f"op{n % 7000}",
            "pid": 1,
            "tid": n % 3,
            "ts": n,
            "dur": 5,
            "args": {"External id": n},
        }
        for n in range(40_000)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": many}), encoding="utf-8")
    fast, slow = both(path, monkeypatch)
    assert fast.events.external_id.tolist() == list(range(40_000))
    assert_same(fast, slow)
    assert load_bytes(path.read_bytes(), tmp_path).events.end[-1] == 40_004_000


@pytest.mark.parametrize("value", [True, None, 5, [1, {"a": 2}]])
def test_a_name_that_is_no_text_may_follow_the_arguments(
    value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json"
    args = {"stream": None, "bytes": None, "correlation": 18581763955387372, "device": 1}
    path.write_text(json.dumps([{"ph": "X", "args": args, "name": value}]))
    assert_same(*both(path, monkeypatch))
