"""The values that a name stands for in a report document, each under its path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from tracelens.model import units
from tracelens.model.forms import FORMS
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.reporting.printable import cut
from tracelens.reporting.schema import COLUMNS, Document, Row

Entry: TypeAlias = Mapping[str, Any]
ROWS: Final = 5
"""Rows of a table in which a name is shown."""
_IDENTITY: Final = ("id", "rule", "blocker", "handle", "example", "kind")
"""Keys that name an entry of a list; the first that it has stands in its path."""

_POINTS: Final = ("start_ns", "base_ns", "intervals_ns")
"""Keys of points in time, on the file's own clock."""
_ENDS: Final = ("low", "high")
_KERNELS: Final = re.compile(r"tables\.(?:gaps\..+\.(?:before|after)|kernels\..+\.name)")
"""Paths of names of device work, which may be long."""
_KERNEL_CELLS: Final = 60
"""Of such a name, whose beginning and end are shown; `tracelens show` has all of it."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a document."""

    path: str
    """Keys from the top, as "forms.replay.step_ms"; an entry of a list goes by its id, rule or handle."""
    value: Any
    """A number, text or null, a list of them, or an entry of a list."""

    @property
    def shown(self) -> str:
        """The value as people read it; of an entry what it says, key by key."""
        given: object = self.value
        if isinstance(given, Mapping):
            entry = cast("Entry", given)
            known = {key: value for key, value in entry.items() if value not in (None, "", [])}
            return ", ".join(f"{key} {_shown(f'{self.path}.{key}', value)}" for key, value in known.items())
        return _shown(self.path, self.value)


def values_of(document: Document, name: str) -> list[Value]:
    """What a name stands for: all below a key of that name, and whatever says it, as a check by its id or a gap by its
    part. Of a table the costliest rows that say it, else the costliest."""
    found = list(_named("", _few(document, name), name))
    return [value for value in found if value.value is not None] or found


def inputs_of(document: Document, patterns: Sequence[str]) -> list[Value]:
    """The values whose paths match any of the patterns, as "forms.*.step_ms"; "*" is any one key."""
    wanted = re.compile("|".join(re.escape(pattern).replace(r"\*", r"[^.]+") for pattern in patterns) or "(?!)")
    return [value for value in _below("", _few(document, "")) if wanted.fullmatch(value.path)]


def _few(document: Document, name: str) -> Entry:
    tables = {table: _rows(document["tables"][table], name) for table in COLUMNS}
    return {**document, "tables": tables}


def _rows(rows: list[Row], name: str) -> list[Row]:
    return ([row for row in rows if _says(row, name)] or rows)[:ROWS]


def _named(path: str, value: object, name: str) -> Iterator[Value]:
    if f".{path.replace('.parts.', '.')}".endswith(f".{name}"):
        yield from _below(path, value)
    elif _is_entries(value):
        for at, entry in _entries(path, value):
            yield from [Value(at, entry)] if _says(entry, name) else _named(at, entry, name)
    elif isinstance(value, Mapping):
        for key, inner in cast("Entry", value).items():
            yield from _named(_joined(path, key), inner, name)
    elif value == name and not _is_origin(_key(path), name):
        yield Value(path, value)


def _below(path: str, value: object) -> Iterator[Value]:
    if _is_entries(value):
        yield from (Value(at, entry) for at, entry in _entries(path, value))
    elif isinstance(value, Mapping):
        for key, inner in cast("Entry", value).items():
            yield from _below(_joined(path, key), inner)
    else:
        yield Value(path, value)


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_entries(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(entry, Mapping) for entry in cast("list[object]", value))


def _entries(path: str, value: object) -> Iterator[tuple[str, Entry]]:
    """Entries of a list, each with the path that its identity gives it."""
    for number, entry in enumerate(cast("list[Entry]", value)):
        yield f"{path}.{next((entry[key] for key in _IDENTITY if entry.get(key) is not None), number)}", entry


def _says(entry: Entry, name: str) -> bool:
    """Whether one of its values is the name, or its class and part are, as "sync.wait"."""
    told = [value for key, value in entry.items() if not _is_origin(key, name)]
    return name in told or f"{entry.get('class')}.{entry.get('part')}" == name


def _is_origin(key: str, name: str) -> bool:
    """Whether a key tells where a kernel comes from, which has a form's name and says nothing of the form."""
    return key == "origin" and name in FORMS


def _shown(path: str, value: object) -> str:
    """A value in the unit that its path tells."""
    if isinstance(value, list):
        return " ".join(_shown(path, one) for one in cast("list[object]", value)) or "none"
    if isinstance(value, float):
        in_ms = "_ms" in path or (path.startswith("forms.") and _key(path) in _ENDS)
        return f"{units.significant(value)}{' ms' if in_ms else ''}"
    if isinstance(value, int) and not isinstance(value, bool):
        return _whole(path, value)
    return _word(path, value)


def _whole(path: str, value: int) -> str:
    key = _key(path)
    if key in _POINTS:
        return f"{value:,} ns"
    return units.duration(value) if key == "ns" or key.endswith("_ns") or ".parts." in path else f"{value:,}"


def _word(path: str, value: object) -> str:
    if value is None:
        return "null"
    return cut(kernel_title(str(value)), _KERNEL_CELLS) if _KERNELS.fullmatch(path) else str(value)


def _key(path: str) -> str:
    return path.rpartition(".")[2]
