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
