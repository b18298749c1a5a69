"""The advice: findings by saving, what to do first, what a repair would allow, and the code that applies it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.model import units
from tracelens.reporting import phrases
from tracelens.reporting.schema import Document, FindingEntry
from tracelens.tui.rows import EMPTY, Look, Piece, Row, cut, head, quiet, row, strong, wrapped

LOOKS: Final = {"critical": Look.BAD, "warning": Look.WARN, "info": Look.KEY}
MARKS: Final = {"critical": "‼", "warning": "!", "info": "·"}


def advice(document: Document, chosen: int, width: int) -> tuple[list[Row], int]:
    """All rows, and the number of the row where the chosen finding begins."""
    rows = [*_verdict(document, width), *_first(document, width), *_snippet(document, width)]
    at = len(rows)
    rows += [head("Findings, by saving"), EMPTY] if document["findings"] else [row(quiet("No findings."))]
    for number, finding in enumerate(document["findings"]):
        at = len(rows) if number == chosen else at
        rows += [*_finding(finding, width, chosen=number == chosen), EMPTY]
    return rows, at


def _verdict(document: Document, width: int) -> Iterator[Row]:
    for line in wrapped(phrases.headline(document), width):
        yield row(strong(line[0].text))
    yield from wrapped(document["recommendation"]["summary"], width)
    if sure := phrases.confidence(document):
        yield row(quiet(cut(sure, width)))
    yield EMPTY


def _first(document: Document, width: int) -> Iterator[Row]:
    """What to repair first, blockers of each form, and what the repairs would allow."""
    fixes = document["recommendation"]["fix_first"]
    if fixes:
        yield head("Do first")
    for number, fix in enumerate(fixes, 1):
        where = f" ({fix['where']})" if fix["where"] else ""
        first, *rest = wrapped(f"{fix['advice']}{where}", width, Look.PLAIN, "   ")
        yield (Piece(f"{number}. ", Look.KEY), Piece(first[0].text[3:]))
        yield from rest
    if after := phrases.after_fix(document):
        yield from wrapped(after, width, Look.STRONG)
    if fixes:
        yield EMPTY
    yield from _blockers(document, width)


def _blockers(document: Document, width: int) -> Iterator[Row]:
    """What holds up which forms."""
    reasons = phrases.hold_ups(document)
    if reasons:
        yield head("What holds the forms up")
    for reason, names in reasons.items():
        yield from wrapped(f"{', '.join(names)}: {reason}", width, Look.PLAIN, "  ")
    if reasons:
        yield EMPTY


def _snippet(document: Document, width: int) -> Iterator[Row]:
    code = document["recommendation"]["snippet"]
    if not code:
        return
    yield (*head("The code"), quiet("  c copies it"))
    for line in code.splitlines():
        yield row(Piece("│ ", Look.QUIET), cut(line, width - 2))
    yield EMPTY


def _finding(finding: FindingEntry, width: int, *, chosen: bool) -> Iterator[Row]:
    look, severity = LOOKS.get(finding["severity"], Look.KEY), finding["severity"]
    saving = f" saves up to {units.milliseconds(finding['saving_ms'])} ms" if finding["saving_ms"] else ""
    pointer = Piece("▸ " if chosen else "  ", Look.STRONG)
    title = cut(finding["title"], width - 4 - len(saving))
    yield (pointer, Piece(f"{MARKS.get(severity, '·')} ", look), strong(title), Piece(saving))
    yield from wrapped(finding["advice"], width, Look.PLAIN, "    ")
    evidence = ", ".join(finding["evidence"])
    said = f"    {severity}, {finding['rule']}" + (f"; evidence: {evidence}" if evidence else "")
    yield row(quiet(cut(said, width)))
