"""The report document as JSON in pieces: a table of a million rows is never in memory whole, as values or as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import orjson

from tracelens.reporting.schema import COLUMNS, Document, Row

_TABLES: Final = b'\n  "tables": {'
"""Where the tables begin; no other key of this name is indented so little."""
_HIDDEN: Final = re.compile(r"[^\x00-\x7e]+")
_DEEPER: Final = b"\n    "


def pieces(document: Document, rows: Callable[[str], Iterable[list[Row]]]) -> Iterator[str]:
    """A document whose tables are empty, with the rows that `rows` has of each table, as indented JSON."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    before, tables, rest = text.partition(_TABLES)
    yield safe((before + tables).decode())
    for name in COLUMNS:
        before, key, rest = rest.partition(b'"%b": [' % name.encode())
        yield (before + key).decode()
        yield from _elements(rows(name))
    yield safe(rest.decode())


def written(value: Any, default: Callable[[Any], Any] | None = None) -> str:  # noqa: ANN401 - whatever orjson can write
    """Indented JSON with a final line end; see `safe`."""
    return safe(orjson.dumps(value, default=default, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def safe(text: str) -> str:
    """JSON that a terminal shows as it is: characters that it would obey or hide are escaped, which parse alike."""
    return text if text.isascii() and "\x7f" not in text else _HIDDEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _elements(rows: Iterable[list[Row]]) -> Iterator[str]:
    """What stands between the brackets of a list of rows, which is indented by two levels."""
    comma = ""
    for some in rows:
        inner = orjson.dumps(some, option=orjson.OPT_INDENT_2)[1:-2]
        yield comma + safe(inner.replace(b"\n", _DEEPER).decode())
        comma = ","
    if comma:
        yield _DEEPER.decode()
