"""One table of the report document as CSV."""

from __future__ import annotations

import csv
import io
from itertools import chain
from typing import Final

from tracelens.reporting.printable import printable
from tracelens.reporting.schema import COLUMNS, Document

_ENDS: Final = {"saving_ns": ("saving_low_ns", "saving_high_ns")}
_FORMULA: Final = tuple("=+-@＝＋－＠")


def render(document: Document, table: str) -> str:
    """The table with a header line, LF line ends; `saving_ns` becomes its two ends.

    Text that a spreadsheet would run as a formula gets a leading apostrophe."""
    columns = [_ENDS.get(name, (name,)) for name in COLUMNS[table]]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(chain.from_iterable(columns))
    for row in document["tables"][table]:
        cells = (row[name] if name in _ENDS else [_cell(row[name])] for name in COLUMNS[table])
        writer.writerow(chain.from_iterable(cells))
    return out.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
