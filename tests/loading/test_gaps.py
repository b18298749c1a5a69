"""What lies between events and between members, and should not, is counted and costs neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.loading.traces import columns_of, event, kinds, load_bytes, load_events

SPARE, MISSING, CONTROLS, SKIPPED = (
    "spare commas",
    "missing commas",
    "control characters between values",
    "unreadable event skipped",
)
GAPS = {
    ",,": SPARE,
    " , ,": SPARE,
    ", /* a comment of words */": SKIPPED,
    ' // one line: "of any" kind\n,': SKIPPED,
    ", a few words,": SKIPPED,
    " ": MISSING,
    "\f,": CONTROLS,
    ",\v": CONTROLS,
    ",x": SKIPPED,
    "x,": SKIPPED,
    ";": SKIPPED,
    "}": SKIPPED,
    ",[": SKIPPED,
    ",[1, 2],": SKIPPED,
    ', "}{" ,': SKIPPED,
    "]": "array of events closed too soon",
}


@pytest.mark.parametrize("bare", [False, True], ids=["object", "array"])
@pytest.mark.parametrize("gap", GAPS, ids=repr)
def test_what_lies_between_events_is_counted_and_costs_none(gap: str, bare: bool, tmp_path: Path) -> None:
    first, second, third = (json.dumps(event(name)) for name in "abc")
    events = f"[{first}{gap}{second},\n{third}]"
    trace = load_bytes((events if bare else f'{{"traceEvents": {events}, "z": 1}}').encode(), tmp_path)
    assert columns_of(trace)["name"] == ["a", "b", "c"]
    assert trace.metadata == ({} if bare else {"z": 1})
    assert kinds(trace)[GAPS[gap]] == 1
    assert all(repair.example for repair in trace.repairs)


@pytest.mark.parametrize("gap", [",,", "\n", ",\f", ",1,", ",x"])
def test_what_lies_between_all_events_costs_none(gap: str, tmp_path: Path) -> None:
    data = '{"traceEvents": [' + gap.join(json.dumps(event(f"op {n}", ts=n)) for n in range(3000)) + "]}"
    trace = load_bytes(data.encode(), tmp_path)
    assert columns_of(trace)["name"] == [f"op {n}" for n in range(3000)]
    assert sum(kinds(trace).values()) == 2999
    assert trace.events.offset[2999] == data.rindex("{")


def test_empty_events_are_counted_and_their_neighbours_keep_their_arguments(tmp_path: Path) -> None:
    first, second = (event(name, args={"bytes": size}) for name, size in (("a", 5), ("b", 7)))
    trace = load_events(["{ }", first, "{}", "{}", second, "{}"], tmp_path)
    assert kinds(trace) == {"objects without a ph skipped": 4}
    assert columns_of(trace)["name"] == ["a", "b"]
    assert columns_of(trace)["bytes"] == [(0, 5), (1, 7)]


MEMBERS = {
    '{"a": 1,, "traceEvents": [EVENTS], "z": 1}': SPARE,
    '{,"a": 1, "traceEvents": [EVENTS], "z": 1}': SPARE,
    '{"a": 1, "traceEvents": [EVENTS], "z": 1,}': SPARE,
    '{"a": 1, "traceEvents": [EVENTS], "z": 1},': SPARE,
    '{"a": 1, "traceEvents": [,EVENTS], "z": 1}': SPARE,
    '{"a": 1, "traceEvents": [EVENTS, ], "z": 1}': SPARE,
    '{"a": 1\n"traceEvents": [EVENTS], "z": 1}': MISSING,
    '{"a": 1, "traceEvents": [EVENTS] "z": 1}': MISSING,
    '{"a": 1, \f"traceEvents": [EVENTS], "z": 1}': CONTROLS,
    '{"a": 1, "traceEvents"\v: [EVENTS], "z": 1}': CONTROLS,
    '{"a": 1, "traceEvents":\f [EVENTS], "z": 1}': CONTROLS,
    '{"a": 1, "traceEvents": [\fEVENTS], "z": 1}': CONTROLS,
    '{"a": 1, "traceEvents": [EVENTS\f], "z": 1}': CONTROLS,
    '{"a": 1, "traceEvents": [EVENTS], "z": 1}\f': CONTROLS,
    '\f{"a": 1, "traceEvents": [EVENTS], "z": 1}': CONTROLS,
    '{"a\\x": 1, "traceEvents": [EVENTS], "z": 1}': "stray backslashes",
    '{"a\x02": 1, "traceEvents": [EVENTS], "z": 1}': "control characters in text",
    '{"a": , "traceEvents": [EVENTS], "z": 1}': "unreadable metadata",
    '{"a": 1 x, "traceEvents": [EVENTS], "z": 1}': "unreadable metadata",
    '{"a": 1, "traceEvents": [EVENTS], "z": 1}}': "text after the end skipped",
}


@pytest.mark.parametrize("text", MEMBERS)
def test_what_lies_between_members_is_counted(text: str, tmp_path: Path) -> None:
    data = text.replace("EVENTS", json.dumps(event("a")) + "," + json.dumps(event("b")))
    trace = load_bytes(data.encode(), tmp_path)
    assert columns_of(trace)["name"] == ["a", "b"]
    assert len(trace.metadata) == 2
    assert trace.metadata["z"] == 1
    assert kinds(trace) == {MEMBERS[text]: 1}
    assert trace.repairs[0].example


def test_a_key_that_is_not_utf8_is_counted(tmp_path: Path) -> None:
    trace = load_bytes(b'{"a\xff": 1, "traceEvents": [' + json.dumps(event()).encode() + b"]}", tmp_path)
    assert kinds(trace) == {"bytes that are not UTF-8": 1}
    assert trace.metadata == {"a\ufffd": 1}


def test_what_is_skipped_counts_as_many_events_as_it_held(tmp_path: Path) -> None:
    one = json.dumps(event())
    behind = load_bytes(f'{{"traceEvents": [{one}]}} {one}, {one} x {one}'.encode(), tmp_path)
    assert kinds(behind) == {"text after the end skipped": 3}
    among = load_bytes(f'[{one}, {{"ph": "X", "a" {{"b": 1}}, x"ph": "X", "c" }}, {one}]'.encode(), tmp_path)
    assert len(among.events) + kinds(among)[SKIPPED] == 4
    members = load_bytes(f'{{"traceEvents": [{one}], "a" [{one}, {one}],\n"b": 1}}'.encode(), tmp_path)
    assert kinds(members) == {"unreadable metadata": 2}
    assert members.metadata == {"b": 1}


@pytest.mark.parametrize(
    ("gap", "kind", "each"), [(",,,,", SPARE, 3), (",\f\v\f", CONTROLS, 3), (",1,2 3,4,", SKIPPED, 3)]
)
def test_each_thing_between_events_is_counted(gap: str, kind: str, each: int, tmp_path: Path) -> None:
    data = "[" + gap.join(json.dumps(event(ts=n)) for n in range(5)) + "]"
    assert kinds(load_bytes(data.encode(), tmp_path)) == {kind: 4 * each}


def test_each_comma_that_lacks_is_counted(tmp_path: Path) -> None:
    events = [json.dumps(event(ts=number)) for number in range(500)]
    trace = load_bytes(("[" + "".join(events) + "]").encode(), tmp_path)
    assert len(trace.events) == 500
    assert kinds(trace) == {MISSING: 499}
