"""The compiled pass says of plain text what the numpy scan says, and leaves any other text to it."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import seeds
from tests.loading.anything import EVENTS, LAYOUTS
from tests.loading.traces import HEAD, assert_same
from tests.reference import reference_traces
from tracelens import loading
from tracelens.loading import load_trace, plain
from tracelens.loading.fields import Kind
from tracelens.loading.framing import QUOTE, frame_events
from tracelens.loading.inflate import GZIP_MAGIC
from tracelens.loading.keys import LAST_CODE
from tracelens.loading.plain import PlainFrame, plain_events
from tracelens.loading.slab import Slab
from tracelens.loading.soundness import SoundnessCheck

EVENT = b'{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 5.5, "args": {"stream": 7, "grid": [1, 2]}}'
PIECES = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\n", b"\f", b"\0", b"\xc3\xa9", b"\xff", b'\\"', b"\\n"),
    *(b"\\u00e9", b"\\ud800", b"true", b"null", b"nul", b"NaN", b"0", b"-1", b"01", b"1.5", b"1.", b"2e3", b"1e400"),
    *(b'"ph"', b'"args"', b'"name": "a"', b'"ts": 1.0005', b'"stream": 18581763955387372', b'"grid": [1], ', EVENT),
    *(b'{"args": {', b'}, {"ph": "X", ', b'"pid": "Spans"', b'"a\\u0062": ', b"1" * 300),
)
SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").rglob("*.json.gz"))
CAN_COMPILE = shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists()

pytestmark = pytest.mark.skipif(
    plain.compiled is None and ("TRACELENS_SCAN" in os.environ or not CAN_COMPILE),
    reason="no compiler, or switched off",
)


def assert_alike(data: bytes) -> PlainFrame | None:
    """What the compiled pass says of these bytes, if anything, is what numpy says; and nothing in them is odd."""
    mine, frame = plain_events(data), frame_events(data)
    if mine is None:
        return None
    slab = Slab.of(data, frame)
    assert mine.starts.tolist() == frame.starts.tolist()
    assert mine.ends.tolist() == frame.ends.tolist()
    assert not frame.odd_gaps
    assert mine.clean <= frame.clean
    assert not slab.odd.any()
    assert SoundnessCheck(data, frame).unsound(slab.odd) == []
    assert_same_members(Slab.of(data, mine), slab)
    assert mine.may_repeat or not repeats(slab)
    return mine


def repeats(slab: Slab) -> bool:
    """Whether an event has two members of one key."""
    rows = [slab.members.row[slab.members.having(key)] for key in range(LAST_CODE + 1)]
    return any(len(np.unique(one)) < len(one) for one in rows)


def assert_same_members(mine: Slab, other: Slab) -> None:
    """The same members in the same order; ends only where they mean something, values where they are sound."""
    for name in ("row", "value", "first"):
        assert np.array_equal(getattr(mine.members, name), getattr(other.members, name)), name
    assert [mine.members.having(key) for key in range(LAST_CODE)] == [
        other.members.having(key) for key in range(LAST_CODE)
    ]
    ended = other.members.first == QUOTE
    ended[other.members.of_kind(Kind.TEXT)] = True
    assert np.array_equal(mine.members.text_end[ended], other.members.text_end[ended])
    assert np.array_equal(mine.raw.sound, other.raw.sound)
    assert np.array_equal(mine.raw.values[mine.raw.sound], other.raw.values[mine.raw.sound])


def test_a_compiler_at_hand_was_used() -> None:
    assert not plain.is_stale, "install it again: tracelens/loading/_plain.c has changed since it was compiled"
    assert plain.compiled, "install it again: tracelens/loading/_plain.c was not compiled"


def test_both_sides_name_the_same_contract() -> None:
    source = Path(plain.__file__).with_name("_plain.c").read_text()
    assert f"enum {{ CONTRACT = {plain.CONTRACT} }};" in source


@pytest.mark.parametrize("made", [{}, {"contract": plain.CONTRACT - 1}])
def test_what_was_compiled_of_other_code_is_not_used(made: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    stale = SimpleNamespace(read_events=lambda *_: pytest.fail("called"), **made)
    monkeypatch.setattr(loading, "_plain", stale)
    monkeypatch.setitem(sys.modules, "tracelens.loading._plain", stale)
    spec = importlib.util.spec_from_file_location("stale_plain", plain.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stale_plain", module)
    spec.loader.exec_module(module)
    assert module.is_stale
    assert module.plain_events(EVENT) is None


def test_a_repeated_member_is_told() -> None:
    once, twice = EVENT + b"]", EVENT.replace(b'"pid": 1', b'"pid": 1, "pid": 1') + b"]"
    assert not plain_events(once).may_repeat
    assert plain_events(twice).may_repeat


@settings(deadline=None, max_examples=100)
@given(events=st.lists(EVENTS, min_size=1, max_size=8), layout=LAYOUTS)
def test_events_are_read_alike(events: list[dict[str, Any]], layout: dict[str, Any]) -> None:
    assert_alike(json.dumps(events, **layout)[1:].encode())


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join) | st.binary(max_size=60))
@example(b"")
@example(b"]")
@example(b"\0" * 9)
def test_no_bytes_are_read_otherwise(data: bytes) -> None:
    for text in (data, EVENT + b", " + data, b'{"ph": "X", "args": {' + data + b"}}]", b'{"name": "' + data + b'"}]'):
        assert_alike(text)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(seeds()), st.data())
def test_damage_is_left_to_the_numpy_scan(seed: bytes, draw: st.DataObject) -> None:
    data = bytearray(seed[seed.find(b"[") + 1 :])
    for _ in range(draw.draw(st.integers(0, 3))):
        at = draw.draw(st.integers(0, len(data)))
        data[at : at + draw.draw(st.integers(0, 2))] = draw.draw(st.sampled_from(PIECES))
    assert_alike(bytes(data))


def test_every_cut_of_events_is_read_alike() -> None:
    args = {"ok": [True, None, {}], "stream": -7, "grid": [1, 2], "bytes": 0.5}
    events = [{"ph": "X", "name": 'a\\"é', "ts": 1.25e1, "args": args}, {"pid": "Spans", "args": {}}, {"ph": "i"}]
    data = json.dumps(events)[1:].encode()
    found = [assert_alike(data[:end]) for end in range(len(data) + 1)]
    counts = [len(frame) for frame in found if frame]
    assert counts == sorted(counts)
    assert set(counts) == {1, 2, 3}


@pytest.mark.parametrize("path", reference_traces("public", "h200") or SAMPLES, ids=lambda path: path.name)
def test_real_traces_are_plain(path: Path) -> None:
    data = path.read_bytes()
    text = gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    begin = text.find(b'"traceEvents"')
    if begin < 0:
        pytest.skip("no trace")
    assert assert_alike(text[text.index(b"[", begin) + 1 :][:HEAD]) is not None


@pytest.mark.parametrize("path", SAMPLES[:2], ids=lambda path: path.name)
def test_traces_are_loaded_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = load_trace(path)
    monkeypatch.setattr(plain, "compiled", None)
    assert_same(mine, load_trace(path))


@pytest.mark.parametrize(
    "rooms", [{"_MOST_EVENTS": 3}, {"_MOST_MEMBERS": 40}, {"_MOST_MEMBERS": 2}, {"_MOST_EVENTS": 0}]
)
def test_what_finds_no_room_waits_for_the_next_frame(rooms: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_trace(SAMPLES[0])
    for name, room in rooms.items():
        monkeypatch.setattr(plain, name, room)
    assert_same(load_trace(SAMPLES[0]), whole)


def test_buffers_of_other_sizes_are_refused() -> None:
    assert plain.compiled is not None
    spans, members, bounds = np.empty((9, 2), dtype=np.int64), np.empty(9, dtype=plain._MEMBER), np.empty(257, np.int64)
    sound = (EVENT, plain._KEYS, plain._MULTIPLIER, spans, members, members.copy(), bounds)
    assert plain.compiled(*sound) == (1, 8, True, False)
    for place, wrong in ((1, plain._KEYS[1:]), (5, members[1:].copy()), (6, bounds[1:])):
        with pytest.raises(ValueError):
            plain.compiled(*sound[:place], wrong, *sound[place + 1 :])
