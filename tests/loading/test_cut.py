"""Files that end early, and compressed ones that are damaged, keep what comes before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loading.anything import QUIET
from tests.loading.damaged import AFTER, BEFORE, EVENTS
from tests.loading.traces import columns_of, event, kinds, kineto, load_bytes, zipped


@pytest.mark.parametrize(
    ("name", "compress"),
    [("trace.json", True), ("trace.json.gz", False), ("trace.json.zst", False), ("trace.json.zst", True)],
)
def test_a_wrong_extension_is_counted(name: str, compress: bool, tmp_path: Path) -> None:
    data = kineto([BEFORE])
    trace = load_bytes(zipped(data) if compress else data, tmp_path, name)
    assert kinds(trace) == {"name does not match the content": 1}
    assert trace.source.compression == ("gzip" if compress else "")
    assert len(trace.events) == 1


@QUIET
@given(cut=st.integers(0, len(kineto(EVENTS)) - 2))
def test_every_event_before_a_cut_is_kept(cut: int, tmp_path: Path) -> None:
    data = kineto(EVENTS)
    begin = data.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    if cut < begin:
        return
    whole = [n for n, one in enumerate(EVENTS) if data.index(json.dumps(one).encode()) + len(json.dumps(one)) <= cut]
    trace = load_bytes(data[:cut], tmp_path)
    full = columns_of(load_bytes(data, tmp_path, "full.json"))
    assert len(trace.events) == len(whole)
    assert kinds(trace)["file cut short"] == 1
    if whole:
        assert {name: values[: len(whole)] for name, values in full.items()} == columns_of(trace)


MANY = zipped(kineto([event(f"op {n}", ts=n) for n in range(3000)]))


@QUIET
@given(share=st.floats(0.2, 0.999))
def test_a_cut_gzip_file_keeps_what_can_be_inflated(share: float, tmp_path: Path) -> None:
    trace = load_bytes(MANY[: int(len(MANY) * share)], tmp_path, "trace.json.gz")
    assert 0 < len(trace.events) <= 3000
    assert columns_of(trace)["name"] == [f"op {n}" for n in range(len(trace.events))]
    assert kinds(trace)["file cut short"] == 1


def test_a_broken_gzip_checksum_is_named(tmp_path: Path) -> None:
    data = bytearray(zipped(kineto([BEFORE, AFTER])))
    data[-6] ^= 0xFF
    trace = load_bytes(bytes(data), tmp_path, "trace.json.gz")
    assert len(trace.events) == 2
    assert kinds(trace) == {"checksum of the compressed file does not match": 1}
    assert "incorrect data check" in trace.repairs[-1].example


def test_a_text_that_ends_early_is_cut_short_whatever_the_checksum(tmp_path: Path) -> None:
    data = bytearray(zipped(kineto([BEFORE, AFTER])[:-3]))
    data[-6] ^= 0xFF
    trace = load_bytes(bytes(data), tmp_path, "trace.json.gz")
    assert kinds(trace).keys() == {"file cut short", "checksum of the compressed file does not match"}


@pytest.mark.parametrize("damage", ["no trailer", "half a trailer", "another length", "bytes behind it"])
def test_a_gzip_trailer_that_is_damaged_makes_no_events_missing(damage: str, tmp_path: Path) -> None:
    data = zipped(kineto([BEFORE, AFTER]))
    damaged = {
        "no trailer": data[:-8],
        "half a trailer": data[:-4],
        "another length": data[:-4] + b"\xff" * 4,
        "bytes behind it": data + b"junk behind the trailer",
    }[damage]
    trace = load_bytes(damaged, tmp_path, "trace.json.gz")
    assert len(trace.events) == 2
    assert kinds(trace) == {"compressed file damaged behind the whole text": 1}
