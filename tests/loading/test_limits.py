"""Enormous and endless texts cost time and memory in proportion to their length."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.fuzz.watch import Watch
from tests.loading.traces import load_bytes

SIZE: Final = 8_000_000
HEAD: Final = b'{"schemaVersion": 1, "traceEvents": ['
EVENT: Final = b'{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2'
ARGS: Final = HEAD + EVENT + b', "args": {'


def endless(unit: bytes) -> bytes:
    return unit * (SIZE // len(unit))


ENDLESS: Final = {
    "braces": endless(b"{"),
    "brackets": endless(b"["),
    "quotes": b"{" + endless(b'"'),
    "a key": b'{"' + endless(b"x"),
    "an escaped key": b'{"' + endless(b'\\"'),
    "metadata": b'{"a": "' + endless(b"x"),
    "escaped metadata": b'{"a": "' + endless(b'\\"'),
    "nested metadata": b'{"a": ' + endless(b"["),
    "small lists of metadata": b'{"a": [' + endless(b"[],"),
    "members": b"{" + endless(b'"a": 1,'),
    "lines without a colon": b"{\n" + endless(b'"a"\n'),
    "spaces": b'{"a": 1 ' + endless(b" "),
    "lines": b'{"a": "b ' + endless(b"\n"),
    "events of brackets": HEAD + endless(b"["),
    "events of words": HEAD + endless(b"x"),
    "commas": HEAD + endless(b","),
    "an argument's name": ARGS + b'"' + endless(b"x"),
    "an argument": ARGS + b'"Call stack": "' + endless(b"x") + b'"}}]}',
    "an escaped argument": ARGS + b'"k": "' + endless(b"\\u0001") + b'"}}]}',
    "deep arguments": ARGS + b'"k": ' + endless(b"[")[::2] + endless(b"]")[::2] + b"}}]}",
    "digits": ARGS + b'"correlation": ' + endless(b"1") + b"}}]}",
    "a name": HEAD + EVENT.replace(b'"a"', b'"' + endless(b"n") + b'"') + b"}]}",
    "text behind the end": b'{"traceEvents": []}' + endless(b"x"),
    "events cut short": HEAD + endless(EVENT + b"},") + b"{" * 1000,
    "empty events": HEAD + EVENT + b"}," + endless(b"{},") + b"{}]}",
    "words among events": HEAD + endless(b"1,") + EVENT + b"}]}",
    "lists among events": HEAD + endless(b"[],") + EVENT + b"}]}",
    "spare commas": HEAD + endless(EVENT + b"},,"),
    "open keys among events": HEAD + endless(b'{"ph":'),
    "open quotes among events": HEAD + endless(b'{"'),
    "closing braces among events": HEAD + endless(b"}"),
    "arguments": ARGS + endless(b'"ab": 1,') + b'"a": 1}}]}',
    "unescaped quotes": ARGS + endless(b'"k": "a"b",'),
    "braces among events": HEAD + endless(b"{"),
    "backslashes": ARGS + b'"k": "' + endless(b"\\"),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_goes_on_and_on_is_bounded(kind: str, tmp_path: Path) -> None:
    watch = Watch()
    watch.run(ENDLESS[kind], lambda: load_bytes(ENDLESS[kind], tmp_path))
    assert not watch.faults, watch.summary()


DENSE_SIZE: Final = 400_000


def dense(unit: bytes) -> bytes:
    return HEAD + unit * (DENSE_SIZE // len(unit)) + b"]}"


SOUND: Final = EVENT + b"},"
QUOTED: Final = b'{"ph":"X","name":"a"b","ts":1},'
HOPELESS: Final = b'{"ph": "X", "name": :::, "ts"},'
DENSE: Final = {
    "mended": dense(QUOTED),
    "mended between sound ones": dense(QUOTED + SOUND),
    "hopeless": dense(HOPELESS),
    "hopeless between sound ones": dense(HOPELESS + SOUND),
    "not a number": dense(b'{"ph":"X","name":"a","ts":1,"dur":nan},'),
    "unread": dense(SOUND[:-2] + b', "q": 1 2},'),
    "never closed": dense(b'{"ph":"X",{},'),
    "closed twice": dense(b'{"ph":"X"}},'),
    "the array closed too soon": dense(SOUND + b"],"),
    "lists of events": dense(SOUND + b'[{"ph":"X"}],'),
    "lists of lists": dense(b"[[]],"),
    "open lists": dense(SOUND + b"[1,"),
    "comments": dense(SOUND + b"/* it is so */"),
    "no commas": dense(b"{}"),
    "no ph": dense(b'{"a":1},'),
    "no ph and nothing to mend": dense(b"{:},"),
    "no ph but a list": dense(b"{[]},"),
    "no ph and quotes": dense(b'{"name":"a"b"},'),
    "a ph and nothing to mend": dense(b'{"ph":"X",:},'),
    "names without an end": dense(b'{"ph":"X",' + b'"name":"' * 1000 + b'","ts":1},'),
    "nothing but a ph": dense(b'{"ph":"X"},'),
    "open objects of metadata": b"{" + dense(b'\n"a":{'),
    "lists of metadata in lists": b'{"a": [' + dense(b"[[1], [{}]],"),
}


@pytest.mark.parametrize("kind", DENSE)
def test_damage_after_damage_costs_time_and_memory_by_its_length(kind: str, tmp_path: Path) -> None:
    watch = Watch()
    watch.run(DENSE[kind], lambda: load_bytes(DENSE[kind], tmp_path))
    assert not watch.faults, watch.summary()


def test_damage_behind_a_long_event_costs_no_more(tmp_path: Path) -> None:
    watch, long = Watch(), ARGS + b'"k": "' + endless(b"x") + b'"}},'
    data = long + dense(QUOTED)[len(HEAD) : DENSE_SIZE // 3] + endless(EVENT + b"},")
    watch.run(data, lambda: load_bytes(data, tmp_path))
    assert not watch.faults, watch.summary()
