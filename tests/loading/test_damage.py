"""Damaged events are mended and counted; nothing before them and nothing after them is lost."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzz.watch import Watch
from tests.loading.anything import QUIET
from tests.loading.damaged import AFTER, BEFORE, EVENTS, NAMED, NOT_JSON, damaged
from tests.loading.traces import columns_of, event, kinds, kineto, load_bytes, load_events
from tests.reference import reference_traces
from tracelens.errors import UnreadableError
from tracelens.loading import careful, load_trace, mend, soundness

SAMPLES = Path(__file__).parent.parent.parent / "sample_traces"

DAMAGED = {
    "nan": (damaged(NAMED + '{"a": nan}'), NOT_JSON),
    "infinity": (damaged(NAMED + '{"a": -Infinity}'), NOT_JSON),
    "not available": (damaged(NAMED + '{"device": N/A}'), NOT_JSON),
    "nan in a list": (damaged(NAMED + '{"grid": [nan, 1]}'), NOT_JSON),
    "windows path": (damaged(r'"name": "C:\Users\nick\x"'), "stray backslashes"),
    "control": (damaged('"name": "a\x01\nb"'), "control characters in text"),
    "surrogate": (damaged(r'"name": "a\ud800b"'), "lone surrogates"),
    "quotes": (damaged('"name": "say "hi", you"'), "unescaped quotes"),
    "one quote": (damaged('"name": "3.5" disk", "id": 1'), "unescaped quotes"),
    "json in name": (damaged('"name": "{"a": "b", "c": {}}(1): f", "id": 1'), "unescaped quotes"),
    "quotes in args": (damaged(NAMED + '{"k": "a"b"c", "device": 0}'), "unescaped quotes"),
}

NAMES = {
    "windows path": r"C:\Users\nick\x",
    "control": "a\x01\nb",
    "surrogate": "a\ufffdb",
    "quotes": 'say "hi", you',
    "one quote": '3.5" disk',
    "json in name": '{"a": "b", "c": {}}(1): f',
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_event_is_mended_and_counted(damage: str, tmp_path: Path) -> None:
    text, kind = DAMAGED[damage]
    trace = load_events([BEFORE, text, AFTER], tmp_path)
    columns = columns_of(trace)
    assert kinds(trace) == {kind: 1}
    assert columns["name"] == ["before", NAMES.get(damage, "x"), "after"]
    assert columns["start"] == [0, 100_000, 200_000]
    assert trace.repairs[0].offset == kineto([BEFORE, text, AFTER]).index(text.encode())


@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_everywhere_is_mended_everywhere(damage: str, tmp_path: Path) -> None:
    text, kind = DAMAGED[damage]
    trace = load_events([BEFORE, *[text] * 50, AFTER], tmp_path)
    assert kinds(trace) == {kind: 50}
    assert columns_of(trace)["name"] == ["before", *[NAMES.get(damage, "x")] * 50, "after"]


def test_two_numbers_for_one_are_named(tmp_path: Path) -> None:
    trace = load_events([BEFORE, damaged('"name": "x", "id": 12 3'), AFTER], tmp_path)
    assert kinds(trace) == {soundness.DAMAGED: 1}
    assert columns_of(trace)["name"] == ["before", "x", "after"]


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    data = kineto([BEFORE, event("caf#"), AFTER]).replace(b"#", b"\xe9")
    trace = load_bytes(data, tmp_path)
    assert kinds(trace) == {"bytes that are not UTF-8": 1}
    assert columns_of(trace)["name"] == ["before", "caf\ufffd", "after"]


def test_a_byte_order_mark_and_a_spare_comma(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + kineto([BEFORE, AFTER]).replace(b"}\n  ],", b"},\n  ],")
    trace = load_bytes(data, tmp_path)
    assert kinds(trace) == {"byte order mark": 1, "spare commas": 1}
    assert columns_of(trace)["name"] == ["before", "after"]


def test_missing_commas_between_events(tmp_path: Path) -> None:
    texts = [json.dumps(event(f"op{n}", ts=n)) for n in range(4)]
    data = f'{{"traceEvents": [{texts[0]} {texts[1]},{texts[2]}\n{texts[3]}]}}'.encode()
    trace = load_bytes(data, tmp_path)
    assert kinds(trace) == {"missing commas": 2}
    assert columns_of(trace)["name"] == ["op0", "op1", "op2", "op3"]


@pytest.mark.parametrize("value", ["null", "true", "5", "-1.5e3", '"a, \\"{b}"', "[]", "[1, [2]]"])
def test_values_that_are_no_events_are_skipped_and_counted(value: str, tmp_path: Path) -> None:
    texts = [value, BEFORE, value, value, *[AFTER, value] * 40]
    trace = load_events(texts, tmp_path)
    assert kinds(trace) == {"unreadable event skipped": 43}
    assert columns_of(trace)["name"] == ["before", *["after"] * 40]


def test_white_space_without_end_is_read_over(tmp_path: Path) -> None:
    blank = b" " * 3_000_000
    data = kineto([BEFORE, AFTER]).replace(b"},\n", b"}" + blank + b",").replace(b"}\n  ]", b"}" + blank + b"]")
    assert len(data) > 2 * len(blank)
    assert columns_of(load_bytes(data, tmp_path))["name"] == ["before", "after"]


def test_a_key_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="cut short before any traceEvents"):
        load_bytes(b'{"' + b"x" * 3_000_000, tmp_path)


def test_an_event_beyond_mending_is_skipped_and_counted(tmp_path: Path) -> None:
    trace = load_events([BEFORE, '{"ph": "X", "name": :::, "ts"}', AFTER], tmp_path)
    assert kinds(trace) == {"unreadable event skipped": 1}
    assert columns_of(trace)["name"] == ["before", "after"]


BROKEN = {
    "bom.json": "byte order mark",
    "nan_value.json": NOT_JSON,
    "non_utf8_bytes.json": "bytes that are not UTF-8",
    "plain_named.json.gz": "name does not match the content",
    "trailing_comma.json": "spare commas",
    "truncated.json": "file cut short",
    "truncated.json.gz": "file cut short",
    "unescaped_quote_in_name.json": "unescaped quotes",
    "unquoted_NA.json": NOT_JSON,
    "windows_backslash.json": "stray backslashes",
}


@pytest.mark.parametrize(
    "path", [path for path in reference_traces("broken") if path.name in BROKEN], ids=lambda path: path.name
)
def test_real_damage_is_named(path: Path) -> None:
    trace = load_trace(path)
    assert kinds(trace)[BROKEN[path.name]] == 1
    assert len(trace.events) == {"truncated.json": 961, "truncated.json.gz": 978}.get(path.name, 1520)


@pytest.mark.parametrize("lane", ['"pid": 007, "tid": 8', '"pid": 7, "tid": "a\x01"', r'"pid": "\x", "tid": 8'])
def test_a_damaged_lane_is_mended(lane: str, tmp_path: Path) -> None:
    text = f'{{"ph": "X", "cat": "cpu_op", "name": "x", "ts": 200, "dur": 5, {lane}}}'
    trace = load_events([BEFORE, text, AFTER], tmp_path)
    assert columns_of(trace)["name"] == ["before", "x", "after"]
    assert sum(kinds(trace).values()) == 1


@pytest.mark.parametrize("word", ["NaN", "-Infinity", "undefined"])
def test_bare_words_among_events_cost_no_event(word: str, tmp_path: Path) -> None:
    trace = load_events([word, BEFORE, word, AFTER, word], tmp_path)
    assert columns_of(trace)["name"] == ["before", "after"]
    assert kinds(trace) == {"unreadable event skipped": 3}


@pytest.mark.parametrize("behind", ["", "}", '}{"ph": "X", "name": "x"},'])
@pytest.mark.parametrize("stray", ['""', '"b" "c"', '"b" , "c"', '"ph" "name"'])
def test_texts_before_an_event_are_no_keys_of_it(behind: str, stray: str, tmp_path: Path) -> None:
    body = ",".join(map(json.dumps, [BEFORE, AFTER] * 20))
    trace = load_bytes(f"[{behind}{stray} {body}]".encode(), tmp_path)
    assert columns_of(trace)["name"][-40:] == ["before", "after"] * 20
    assert trace.events.start[-2:].tolist() == trace.events.start[-4:-2].tolist()
    assert kinds(trace)["unreadable event skipped"] >= 1


@pytest.mark.parametrize("text", ['[}{"ph":"X"},"" {"":}', '[}{"ph":"X"},"b" {"c":}', '[}{"ph":"X"},"b" {"c"'])
def test_texts_before_what_never_ends_are_read_over(text: str, tmp_path: Path) -> None:
    assert len(load_bytes(text.encode(), tmp_path).events) == 1


def test_noise_is_skipped_and_counted_without_end(tmp_path: Path) -> None:
    noise = ['{"ph": "X", "na}{me": :::, "ts" "' + chr(65 + n % 26) + "}" for n in range(1500)]
    trace = load_events([BEFORE, *noise, AFTER], tmp_path)
    assert columns_of(trace)["name"] == ["before", "after"]
    assert kinds(trace) == {"unreadable event skipped": 1500}


def test_what_mending_helps_is_mended_however_much_of_it(tmp_path: Path) -> None:
    text, kind = DAMAGED["nan"]
    hopeless = '{"ph": "X", "name": :::, "ts"}'
    trace = load_events([BEFORE, *[hopeless, text] * 400, AFTER], tmp_path)
    assert kinds(trace) == {"unreadable event skipped": 400, kind: 400}


def test_what_is_read_without_mending_leaves_the_lost_to_be_mended(tmp_path: Path) -> None:
    read = '{"ph": "X", "name": "read", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "q": 1 2}'
    quoted = '{"ph": "X", "name": "a"b", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    trace = load_events([*[read] * 900, quoted], tmp_path)
    assert columns_of(trace)["name"] == ["read"] * 900 + ['a"b']
    assert kinds(trace) == {"damaged event read as far as it goes": 900, "unescaped quotes": 1}


def test_damaged_objects_without_a_ph_leave_events_to_be_mended(tmp_path: Path) -> None:
    quoted = '{"ph": "X", "name": "a"b", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
    trace = load_events([*["{:}"] * 900, *['{"name": "a"b"}'] * 900, quoted], tmp_path)
    assert columns_of(trace)["name"] == ['a"b']
    assert kinds(trace) == {
        "objects without a ph skipped": 900,
        "unreadable event skipped": 900,
        "unescaped quotes": 1,
    }


@settings(QUIET, max_examples=150)
@example(at=1621, flip=0x60)
@given(at=st.integers(0, len(kineto(EVENTS)) - 1), flip=st.integers(1, 255))
def test_no_event_vanishes_uncounted(at: int, flip: int, tmp_path: Path) -> None:
    data = bytearray(kineto(EVENTS))
    data[at] ^= flip
    try:
        trace = load_bytes(bytes(data), tmp_path)
    except UnreadableError:
        return
    assert 0 <= len(EVENTS) - len(trace.events) <= sum(kinds(trace).values())
    assert trace.repairs or is_json(data)
    for repair in trace.repairs:
        assert repair.count > 0
        assert repair.example
        assert 0 <= repair.offset <= len(data)


def is_json(data: bytes | bytearray) -> bool:
    try:
        json.loads(data.decode())
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.json.gz")), ids=lambda path: f"{path.parent.name} {path.name}")
def test_without_repairs_nothing_but_commas_lies_between_rows(path: Path) -> None:
    trace, text = load_trace(path), gzip.decompress(path.read_bytes())
    assert trace.repairs == ()
    starts, ends = trace.events.offset.tolist(), (trace.events.offset + trace.events.length).tolist()
    gaps = {text[end:start].strip() for start, end in zip(starts[1:], ends[:-1], strict=True)}
    assert gaps == {b","}
    assert text[: starts[0]].rstrip().endswith(b'"traceEvents": [')
    assert text[ends[-1] :].lstrip().startswith(b"]")


def test_what_lost_its_closing_brace_costs_no_neighbour(tmp_path: Path) -> None:
    texts = [json.dumps(one) for one in EVENTS]
    texts[3] = texts[3][:-1] + "#"
    trace = load_events(texts, tmp_path)
    assert len(trace.events) == len(EVENTS) - 1
    assert kinds(trace) == {"unreadable event skipped": 1}


@pytest.mark.parametrize("stray", ['[{"a": 1}]', "[[[1]]]", '[{"ph": "X"}, {}]', "[]", '["]", 1]'])
def test_arrays_among_events_cost_no_event(stray: str, tmp_path: Path) -> None:
    trace = load_events([stray, BEFORE, stray, AFTER, stray], tmp_path)
    assert columns_of(trace)["name"] == ["before", "after"]
    assert kinds(trace) == {"unreadable event skipped": 3}


def test_damaged_events_cost_little_each(tmp_path: Path) -> None:
    watch = Watch()
    data = b'{"traceEvents":[' + b'{"ph":"X","name":"a"b","ts":1,"dur":N/A},' * 5000 + b"]}"
    watch.run(data, lambda: load_bytes(data, tmp_path))
    assert not watch.faults, watch.summary()


def test_no_damage_is_mended_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mended: list[bytes] = []
    monkeypatch.setattr(careful, "mend", lambda text: mended.append(text) or mend.mend(text))
    ends = ('"args": {"a": nan}', '"args": {"q": 1 2}', '"a": :::', '"a": "b"c"', '"args": {}')
    events = [damaged(f'"name": "x{number}", {ends[number % len(ends)]}') for number in range(100)]
    trace = load_events(events, tmp_path)
    assert len(trace.events) == 80
    assert len(mended) == len(set(mended)) == 80
