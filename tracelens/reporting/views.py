"""Which columns of each table people are shown, and how a cell reads; text and Markdown share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tracelens.model import units
from tracelens.reporting import phrases
from tracelens.reporting.grid import Column
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.reporting.printable import short_place
from tracelens.reporting.schema import Document, Row

Cell = Callable[[Row], str]


@dataclass(frozen=True, slots=True)
class View:
    """One table as people see it."""

    table: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str
    """How many rows are not shown and how to see them; "" when all are."""


def views(document: Document) -> Iterator[View]:
    """The tables that have rows; launches are left to CSV and JSON."""
    base_ns = document["trace"]["base_ns"]
    for table, title, columns in (
        ("kernels", "Kernels launched", _KERNELS),
        ("operators", "Operators by host time", _OPERATORS),
        ("gaps", "Longest gaps", _gaps(base_ns)),
        ("syncs", "Sync points by saving", _SYNCS),
    ):
        rows = tuple(tuple(cell(row) for _, cell in columns) for row in document["tables"][table])
        if rows:
            title = " ".join(filter(None, (title, phrases.over(document))))
            yield View(table, title, tuple(column for column, _ in columns), rows, phrases.left_out(document, table))


def _time(key: str) -> Cell:
    return lambda row: units.duration(row[key])


def _count(key: str) -> Cell:
    return lambda row: f"{row[key]:,}"


def _text(key: str) -> Cell:
    return lambda row: row[key] or ""


def _file(row: Row) -> str:
    return short_place(row["where"])


def _saving(row: Row) -> str:
    return "" if row["saving_ns"] is None else units.durations(*row["saving_ns"])


def _gaps(base_ns: int) -> tuple[tuple[Column, Cell], ...]:
    return (
        (Column("gap"), _text("handle")),
        (Column("at", ">", spare=2), lambda row: units.duration(row["start_ns"] - base_ns)),
        (Column("length", ">"), _time("ns")),
        (Column("cause"), lambda row: f"{row['class']}.{row['part']}"),
        (Column("operator", least=20, spare=1), _text("operator")),
        (Column("where", least=20), _file),
    )


_KERNELS: Final[tuple[tuple[Column, Cell], ...]] = (
    (Column("of device", ">"), lambda row: units.share(row["share"])),
    (Column("total", ">"), _time("total_ns")),
    (Column("count", ">", spare=1), _count("count")),
    (Column("median", ">", spare=2), _time("median_ns")),
    (Column("kind", spare=1), _text("kind")),
    (Column("kernel", least=28), lambda row: kernel_title(row["name"])),
    (Column("example", spare=1), _text("example")),
)
_OPERATORS: Final[tuple[tuple[Column, Cell], ...]] = (
    (Column("host", ">"), _time("host_ns")),
    (Column("device", ">"), _time("device_ns")),
    (Column("count", ">", spare=1), _count("count")),
    (Column("launches", ">", spare=2), _count("launches")),
    (Column("operator", least=20), _text("name")),
    (Column("where", least=20), _file),
    (Column("example", spare=1), _text("example")),
)
_SYNCS: Final[tuple[tuple[Column, Cell], ...]] = (
    (Column("sync"), _text("handle")),
    (Column("length", ">"), _time("ns")),
    (Column("saves", ">"), _saving),
    (Column("call", least=20), _text("call")),
    (Column("operator", least=20, spare=1), _text("operator")),
    (Column("where", least=20), _file),
)
