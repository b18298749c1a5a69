"""Traces load whatever their layout, and keep all that is not an event."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loading import nested
from tests.loading.traces import HEADER, columns_of, event, kinds, kineto, load_bytes, zipped
from tracelens.errors import UnreadableError
from tracelens.loading import values

EVENTS = [event(f"op{n}", ts=100 + n, args={"External id": n, "Input Dims": [[n]]}) for n in range(3)]
BODY = {"traceEvents": EVENTS}
LAYOUTS = {
    "kineto": kineto(EVENTS),
    "compact": json.dumps(HEADER | BODY, separators=(",", ":")).encode(),
    "indented": json.dumps(HEADER | BODY, indent=4).encode(),
    "tabs": json.dumps(HEADER | BODY, indent="\t").encode(),
    "windows lines": json.dumps(HEADER | BODY, indent=1).replace("\n", "\r\n").encode(),
    "sorted keys": json.dumps(HEADER | BODY, sort_keys=True).encode(),
    "events first": json.dumps(BODY | HEADER).encode(),
    "bare array": json.dumps(EVENTS).encode(),
    "bare indented array": json.dumps(EVENTS, indent=2).encode(),
    "space before colons": json.dumps(HEADER | BODY, separators=(" , ", " : ")).encode(),
    "gzip": zipped(kineto(EVENTS)),
    "two gzip members": zipped(kineto(EVENTS)[:300]) + zipped(kineto(EVENTS)[300:]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_events(layout: str, tmp_path: Path) -> None:
    name = "trace.json.gz" if "gzip" in layout else "trace.json"
    trace = load_bytes(LAYOUTS[layout], tmp_path, name)
    columns = columns_of(trace)
    assert columns["name"] == ["op0", "op1", "op2"]
    assert columns["external_id"] == [0, 1, 2]
    assert columns["shapes"] == [(0, "[[0]]"), (1, "[[1]]"), (2, "[[2]]")]
    assert trace.repairs == ()


def test_offsets_and_lengths_delimit_events(tmp_path: Path) -> None:
    data = kineto(EVENTS)
    trace = load_bytes(data, tmp_path)
    places = zip(trace.events.offset.tolist(), trace.events.length.tolist(), strict=True)
    assert [json.loads(data[start : start + length]) for start, length in places] == EVENTS


def test_metadata_before_and_after_the_events_is_kept(tmp_path: Path) -> None:
    members: dict[str, Any] = {
        "schemaVersion": 1,
        "distributedInfo": {"rank": 3},
        "traceEvents": EVENTS,
        "INFO": ["dropped 3 records", 'a ] } " of text'],
        "tracelens": {"form": "eager"},
        "traceName": "a.json",
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    }
    trace = load_bytes(json.dumps(members).encode(), tmp_path)
    assert trace.metadata == {key: value for key, value in members.items() if key != "traceEvents"}
    assert trace.stamp == {"form": "eager"}


def test_damaged_metadata_costs_no_events(tmp_path: Path) -> None:
    data = kineto(EVENTS).replace(
        b'"traceName": "t.json"', b'"INFO": ["say "hi""],\n  "share": nan,\n  "traceName": "t.json"'
    )
    trace = load_bytes(data, tmp_path)
    assert len(trace.events) == 3
    assert trace.metadata["traceName"] == "t.json"
    assert trace.metadata["share"] is None
    assert sum(kinds(trace).values()) == 2


@pytest.mark.parametrize("data", [b"[]", b'{"traceEvents": []}', b'{"traceEvents":[ ] , "a": 1}', b" \n[ ]\n"])
def test_an_empty_trace_is_a_trace(data: bytes, tmp_path: Path) -> None:
    trace = load_bytes(data, tmp_path)
    assert len(trace.events) == 0
    assert trace.base_ns == 0
    assert trace.devices == ()
    assert trace.repairs == ()


def test_a_second_array_of_events_is_read_too(tmp_path: Path) -> None:
    data = (
        b'{"traceEvents": ['
        + json.dumps(EVENTS[0]).encode()
        + b'], "traceEvents": ['
        + json.dumps(EVENTS[1]).encode()
        + b"]}"
    )
    assert columns_of(load_bytes(data, tmp_path))["name"] == ["op0", "op1"]


def test_text_after_the_document_is_counted(tmp_path: Path) -> None:
    trace = load_bytes(kineto(EVENTS) + b"Segmentation fault\n", tmp_path)
    assert len(trace.events) == 3
    assert kinds(trace) == {"text after the end skipped": 1}
    assert type(trace.repairs[0].count) is int


def test_events_behind_the_document_are_counted_across_what_is_read_at_once(tmp_path: Path) -> None:
    trace = load_bytes(kineto(EVENTS) + b'{"ph" : "X"},' * 700_001, tmp_path)
    assert kinds(trace) == {"text after the end skipped": 700_001}
    trace = load_bytes(kineto(EVENTS) + b'{"ph": "X"} "p', tmp_path)
    assert kinds(trace) == {"text after the end skipped": 1}


FOREIGN = {
    "rocprofiler": (b'{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "rocprofv3"),
    "execution trace": (b'{"schema": "1.1.1", "pid": 3, "nodes": [{"id": 1}]}', "execution trace"),
    "notebook": (b'{"cells": [], "metadata": {}, "nbformat": 4}', "Jupyter"),
    "har": (b'{"log": {"version": "1.2", "entries": []}}', "HAR"),
    "package": (b'{"name": "x", "version": "1.0.0", "dependencies": {}}', "package.json"),
    "run manifest": (b'{"schema_version": 1, "environment": {}, "forms": {}}', "name the directory it lies in"),
    "report": (b'{"schema_version": 1, "attribution": {}, "recommendation": {}}', "report of this tool"),
    "nsight": (b'{"Type": 80, "TraceProcessEvent": {}}\n{"Type": 81}\n', "Nsight"),
    "speedscope": (b'{"shared": {}, "profiles": []}', "speedscope"),
    "other json": (b'{"a": 1, "b": [2]}', "its keys: a, b"),
    "no events": (b'{"schemaVersion": 1, "traceEvents": null}', "whose traceEvents are no array of events"),
    "events in text": (b'{"traceEvents": "[]"}', "whose traceEvents are no array of events"),
    "events in an object": (b'{"traceEvents": {"ph": "X"}}', "whose traceEvents are no array of events"),
    "utf-16 without a mark": ('{"traceEvents": []}'.encode("utf-16-le"), "UTF-16"),
    "utf-16 without a mark, big end first": ('[{"ph": "X"}]'.encode("utf-16-be"), "UTF-16"),
    "utf-32 without a mark": ('{"traceEvents": []}'.encode("utf-32-le"), "UTF-32"),
    "indented utf-16 without a mark": ('\n  {"traceEvents": []}'.encode("utf-16-le"), "UTF-16"),
    "indented utf-32, big end first": ('\n  {"traceEvents": []}'.encode("utf-32-be"), "UTF-32"),
    "number": (b"42", "without an object or an array"),
    "quoted text": (b'"hi"\n', "without an object or an array"),
    "null": (b"null", "without an object or an array"),
    "table": (b"1,2\n3,4\n", "text that is not JSON"),
    "array of numbers": (b"[1, 2, 3]", "none has a ph"),
    "array of objects": (b'[{"a": 1}, {"a": 2}]', "none has a ph"),
    "sqlite": (b"SQLite format 3\0" + bytes(100), "SQLite"),
    "pickle": (b"\x80\x04\x95abc", "pickle"),
    "zip": (b"PK\x03\x04abc", "zip"),
    "gzip twice": (zipped(zipped(kineto(EVENTS))), "gzip within gzip"),
    "gzip thrice": (zipped(zipped(zipped(kineto(EVENTS)))), "until one gzip or none is left"),
    "zlib": (zlib.compress(kineto(EVENTS)), "bare zlib data"),
    "large file pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "git lfs pull"),
    "annexed": (b"/annex/objects/SHA256E-s9--ab.json\n", "git annex get"),
    "an event a line": (b"\n".join(json.dumps(event).encode() for event in EVENTS), "without an array around them"),
    "tar": (b"name" + bytes(253) + b"ustar" + bytes(100), "tar"),
    "html": (b"<!DOCTYPE html><html>", "HTML"),
    "perfetto": (b"\x0a\xf3\x01\x08\x01" + bytes(60), "Perfetto"),
    "text": (b"hello", "not JSON"),
    "empty": (b"", "empty"),
    "white space": (b" \n \n", "empty"),
    "zeros": (bytes(50), "zero bytes"),
    "utf-32": ("{}".encode("utf-32"), "UTF-32"),
    "utf-32 the other way round": (b"\x00\x00\xfe\xff" + "{}".encode("utf-32-be"), "UTF-32"),
    "utf-16": ("{}".encode("utf-16"), "UTF-16"),
    "empty object": (b"{}", "without traceEvents"),
    "open object": (b'{"schemaVersion": 1, "devicePr', "cut short before any traceEvents"),
    "gzip cut in its head": (zipped(b'{"traceEvents": []}')[:10], "gzip data cut short before any text"),
    "gzip cut before the events": (zipped(json.dumps(HEADER).encode())[:-12], "cut short before any traceEvents"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_trace_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    data, name = FOREIGN[kind]
    with pytest.raises(UnreadableError, match=name) as refusal:
        load_bytes(data, tmp_path)
    assert "\n" not in str(refusal.value)
    assert "trace.json" in str(refusal.value)


def test_a_chrome_trace_of_another_tool_loads(tmp_path: Path) -> None:
    data = json.dumps(
        [{"name": "a", "ph": "B", "ts": 1, "pid": "p"}, {"name": "a", "ph": "E", "ts": 5, "pid": "p"}]
    ).encode()
    trace = load_bytes(data, tmp_path)
    assert trace.events.phase.tolist() == [ord("X"), ord("E")]
    assert trace.events.duration.tolist() == [4000, 0]
    assert trace.vendor == "none"


def test_an_event_longer_than_a_slab(tmp_path: Path) -> None:
    long = event("long", args={"External id": 5, "Call stack": "x" * 3_000_000, "other": [["{", 1]] * 200_000})
    columns = columns_of(load_bytes(kineto([EVENTS[0], long, EVENTS[2]]), tmp_path))
    assert columns["name"] == ["op0", "long", "op2"]
    assert columns["external_id"] == [0, 5, 2]


def test_deep_nesting_is_no_crash(tmp_path: Path) -> None:
    deep = json.dumps(event("deep", args={"a": 0})).replace("0}", "[" * 50_000 + "]" * 50_000 + "}")
    trace = load_bytes(kineto([EVENTS[0], deep, EVENTS[2]]), tmp_path)
    assert {"op0", "op2"} <= set(columns_of(trace)["name"])


@given(
    nested.values(),
    st.sampled_from([b",", b"}", b', "a": [1]}', b"\n}"]),
    st.sampled_from([None, 1]),
    st.integers(1, 40),
)
def test_a_value_ends_where_json_says(value: object, rest: bytes, indent: int | None, piece: int) -> None:
    text = json.dumps(value, indent=indent).encode()
    with mock.patch.object(values, "PIECE", piece):
        end = values.end_of_value(text + rest)
        assert (text + rest)[:end].strip() == text
        if text[:1] in b'[{"':
            cuts = {*range(0, len(text), len(text) // 8 + 1), len(text) - 1}
            assert all(values.end_of_value(text[:cut]) is None for cut in cuts)
