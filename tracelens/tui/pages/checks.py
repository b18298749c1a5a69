"""Whether to trust the trace: every check with what was found and what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.model import units
from tracelens.reporting.schema import CheckEntry, Document
from tracelens.tui.rows import EMPTY, Look, Piece, Row, quiet, row, wrapped

MESSAGE_AT: Final = 36
"""Column at which what a check says begins."""


def checks(document: Document, width: int) -> list[Row]:
    """The failed ones first."""
    ordered = sorted(document["trust"]["checks"], key=lambda check: check["passed"])
    if not ordered:
        return [row(quiet("There is nothing to check.")), EMPTY]
    title = row(quiet(f"  {'check':16}{'found':>8}{'bound':>8}"))
    return [title, *(line for check in ordered for line in _check(check, width))]


def _check(check: CheckEntry, width: int) -> Iterator[Row]:
    judged = Piece("- ", Look.QUIET) if check["value"] is None else Piece("+ ", Look.GOOD)
    mark = judged if check["passed"] else Piece("! ", Look.BAD)
    numbers = f"{check['id']:16}{_number(check['value']):>8}{_number(check['threshold']):>8}  "
    first, *rest = wrapped(check["message"], width, indent=" " * MESSAGE_AT)
    yield row(mark, numbers, first[0].text[MESSAGE_AT:])
    yield from rest


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value == int(value) else units.significant(value)
