"""One event at a time: the reference for the vectorised scan, and the way for events that are odd."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tracelens.loading.fields import ARGUMENTS, CORRELATION, Kind
from tracelens.loading.jsontext import as_object, json_text, parsed
from tracelens.loading.mend import mend
from tracelens.loading.numbers import FLOAT_HOLDS_NS, integer, nanoseconds, real
from tracelens.loading.repairs import Patience, RepairLog
from tracelens.model import arguments

UNKNOWN_PHASE: Final = ord("?")
_PHASE_KEY: Final = b'"ph"'
"""Mending cannot make an event of a text without it."""
NO_PHASE: Final = 0
"""Of what has no `ph`, and so is no event."""


NO_DURATION: Final = "events without a duration"
NO_NAME: Final = "names that are no text"
NO_CATEGORY: Final = "categories that are no text"
NO_ARGUMENTS: Final = "arguments that are no object"
NO_CORRELATION: Final = "correlations that are no number"
_EXPECTED: Final[dict[str, tuple[str, Callable[[object], bool]]]] = {
    "dur": (NO_DURATION, lambda value: nanoseconds(value) is not None),
    "name": (NO_NAME, lambda value: isinstance(value, str)),
    "cat": (NO_CATEGORY, lambda value: isinstance(value, str)),
    "args": (NO_ARGUMENTS, lambda value: value is None or isinstance(value, dict)),
}
"""Key of an event -> kind of damage where it gives something else, and what it may give."""


@dataclass(slots=True)
class Record:
    """One event, decoded."""

    phase: int
    category: str
    name: str
    pid: str
    tid: str
    start: int | None
    """ns on the file's clock."""
    duration: int | None
    label: str
    """`args.name` of a metadata event."""
    values: dict[str, int | float | str] = field(default_factory=dict[str, int | float | str])
    """By column of `fields`, the flow id included."""
    unread: tuple[tuple[str, str], ...] = ()
    """What an event that lasts gives but nobody can read, as kinds of damage, and its text."""


def parse(text: bytes) -> dict[str, Any] | None:
    """The JSON object of a sound event, times exact; None if the text is no JSON object."""
    event = as_object(parsed(text))
    return _with_exact_times(event, text) if event is not None else None


def parse_mended(text: bytes) -> tuple[dict[str, Any], list[str]] | None:
    """The object of a damaged event and the kinds of damage, or None if it cannot be read."""
    mended = mend(text)
    event = as_object(mended[0]) if mended else None
    return (event, mended[1]) if mended and event is not None else None


def _with_exact_times(event: dict[str, Any], text: bytes) -> dict[str, Any]:
    """Decode times again as decimals where a float64 cannot hold their nanoseconds."""
    times = [key for key in ("ts", "dur") if isinstance(event.get(key), float) and abs(event[key]) >= FLOAT_HOLDS_NS]
    if times:
        exact = json.loads(text, parse_float=Decimal)
        event.update({key: exact[key] for key in times})
    return event


def record(event: Mapping[str, Any]) -> Record:
    """What the columns keep of a decoded event."""
    args = as_object(event.get("args")) or {}
    phase = _text(event.get("ph"))
    values = _argument_values(args)
    flow = integer(event.get("id")) if phase in "stf" else None
    if flow is not None:
        values[arguments.FLOW_ID] = flow
    return Record(
        _phase(phase),
        _text(event.get("cat")),
        _text(event.get("name")),
        _text(event.get("pid")),
        _text(event.get("tid")),
        nanoseconds(event.get("ts")),
        nanoseconds(event.get("dur")),
        _text(args.get("name")) if phase == "M" else "",
        values,
        _unread(event, args) if phase in ("X", "B") else (),
    )


def _unread(event: Mapping[str, Any], args: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Kinds of damage, and the text, of what an event gives but nobody can read."""
    found = [(kind, event[key]) for key, (kind, reads) in _EXPECTED.items() if key in event and not reads(event[key])]
    correlation = args.get(CORRELATION)
    if correlation is not None and integer(correlation) is None:
        found.append((NO_CORRELATION, correlation))
    return tuple((kind, json_text(value)) for kind, value in found)


def lane_named(event: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Of a metadata event that names a lane, as in its record: its name, pid, tid and label."""
    args = as_object(event.get("args")) or {}
    name, pid, tid, label = event.get("name"), event.get("pid"), event.get("tid"), args.get("name")
    return _text(name), _text(pid), _text(tid), _text(label)


def _phase(text: str) -> int:
    known = len(text) == 1 and text > "\0" and text.isascii()
    return ord(text) if known else UNKNOWN_PHASE if text else NO_PHASE


def _argument_values(args: Mapping[str, Any]) -> dict[str, int | float | str]:
    """Values of the arguments that become columns, by column; what cannot be read is left out."""
    values: dict[str, int | float | str] = {}
    for key, value in args.items():
        column, kind = ARGUMENTS.get(key, ("", Kind.TEXT))
        kept = _READ[kind](value) if column and value is not None else None
        if kept is not None:
            values[column] = kept
    return values


def _text(value: object) -> str:
    """A string as it is, nothing as "", anything else as JSON."""
    return "" if value is None else json_text(value)


_READ: Final = {Kind.INTEGER: integer, Kind.FLOAT: real, Kind.TEXT: json_text}


def decode_one(text: bytes, offset: int, repairs: RepairLog, patience: Patience | None = None) -> Record | None:
    """One event, mended and counted if need be; None if it cannot be read, or too many before it could not.

    `patience` counts these, that of the repairs unless another is given."""
    patience = patience or repairs.mending
    event = parse(text)
    if event is not None:
        return record(event)
    if not patience.left or _PHASE_KEY not in text or text == repairs.hopeless:
        return None
    mended = parse_mended(text)
    patience.tried(helped=mended is not None)
    if mended is None:
        repairs.hopeless = text
        return None
    for kind in mended[1]:
        repairs.add(kind, text[:200], offset)
    return record(mended[0])
