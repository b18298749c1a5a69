"""The report document as JSON in pieces: a table of a million rows is never in memory whole, as values or as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import orjson

from tracelens.reporting.schema import COLUMNS, Document, Row

_TABLES: Final = b'\n  "tables": {'
"""Where the tables begin; no other key of this name is indented so little."""
_DEEPER: Final = b"\n    "


def pieces(document: Document, rows: Callable[[str], Iterable[list[Row]]]) -> Iterator[str]:
    """A document whose tables are empty, with the rows that `rows` has of each table, as indented JSON."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    before, tables, rest = text.partition(_TABLES)
    yield (before + tables).decode()
    for name in COLUMNS:
        before, key, rest = rest.partition(b'"%b": [' % name.encode())
        yield (before + key).decode()
        yield from _elements(rows(name))
    yield rest.decode()


def _elements(rows: Iterable[list[Row]]) -> Iterator[str]:
    """What stands between the brackets of a list of rows, which is indented by two levels."""
    comma = ""
    for some in rows:
        inner = orjson.dumps(some, option=orjson.OPT_INDENT_2)[1:-2]
        yield comma + inner.replace(b"\n", _DEEPER).decode()
        comma = ","
    if comma:
        yield _DEEPER.decode()
