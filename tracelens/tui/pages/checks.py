"""Whether to trust the trace: every check with what was found and what is asked."""

from __future__ import annotations

from tracelens.model import units
from tracelens.reporting.schema import CheckEntry, Document
from tracelens.tui.rows import EMPTY, Look, Piece, Row, quiet, row


def checks(document: Document) -> list[Row]:
    """The failed ones first."""
    ordered = sorted(document["trust"]["checks"], key=lambda check: check["passed"])
    title = row(quiet(f"  {'check':16}{'found':>8}{'bound':>8}"))
    return [title, *map(_check, ordered)] if ordered else [row(quiet("There is nothing to check.")), EMPTY]


def _check(check: CheckEntry) -> Row:
    mark = Piece("+ ", Look.GOOD) if check["passed"] else Piece("! ", Look.BAD)
    return row(
        mark, f"{check['id']:16}{_number(check['value']):>8}{_number(check['threshold']):>8}  {check['message']}"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value == int(value) else units.significant(value)
