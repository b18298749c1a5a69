"""The advice: what to do first, findings by saving, what a repair would allow, and the code that applies it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.reporting import phrases
from tracelens.reporting.schema import Document, FindingEntry
from tracelens.tui.rows import EMPTY, Look, Piece, Row, cut, head, quiet, row, strong, wrapped
from tracelens.tui.targets import linked, linked_lines

LOOKS: Final = {"critical": Look.BAD, "warning": Look.WARN, "info": Look.KEY}
MARKS: Final = {"critical": "‼", "warning": "!", "info": "·"}


def advice(document: Document, width: int) -> list[Row]:
    """All rows; each piece of evidence is a link."""
    return [
        *_verdict(document, width),
        *_first(document, width),
        *_blockers(document, width),
        *_findings(document, width),
        *_snippet(document, width),
    ]


def _verdict(document: Document, width: int) -> Iterator[Row]:
    for line in wrapped(phrases.headline(document), width):
        yield row(strong(line[0].text))
    if why := phrases.explanation(document):
        yield from wrapped(why, width)
    if sure := phrases.confidence(document):
        yield from linked_lines(sure, width, Look.QUIET)
    yield EMPTY


def _first(document: Document, width: int) -> Iterator[Row]:
    """What to repair first, and what the repairs would allow."""
    steps = phrases.next_steps(document)
    if steps:
        yield head("Do first")
    for number, step in enumerate(steps, 1):
        first, *rest = wrapped(step, width, Look.PLAIN, "   ")
        yield (Piece(f"{number}. ", Look.KEY), Piece(first[0].text[3:]))
        yield from rest
    if after := phrases.after_fix(document):
        yield from wrapped(after, width, Look.STRONG)
    if steps:
        yield EMPTY


def _blockers(document: Document, width: int) -> Iterator[Row]:
    """What blocks which forms."""
    reasons = phrases.blocked_forms(document)
    if reasons:
        yield head("Blockers")
    for reason, names in reasons.items():
        yield from wrapped(f"{', '.join(names)}: {reason}", width, Look.PLAIN, "  ")
    if reasons:
        yield EMPTY


def _findings(document: Document, width: int) -> Iterator[Row]:
    findings = document["findings"]
    yield (*head("Findings, by saving"), quiet("  9 lists them")) if findings else row(quiet("No findings."))
    for finding in findings:
        yield from _finding(finding, width)
    yield EMPTY


def _finding(finding: FindingEntry, width: int) -> Iterator[Row]:
    look, severity = LOOKS.get(finding["severity"], Look.KEY), finding["severity"]
    saving = phrases.saving(finding)
    first, *rest = wrapped(f"{finding['title']}. {saving}".strip(), width, Look.STRONG, "  ")
    yield (Piece(f"{MARKS.get(severity, '·')} ", look), strong(first[0].text[2:]))
    yield from rest
    yield from wrapped(finding["advice"], width, Look.PLAIN, "  ")
    evidence = f" {', '.join(finding['evidence'])}" if finding["evidence"] else ""
    yield linked(cut(f"  {severity}, {finding['rule']}{evidence}", width), Look.QUIET)


def _snippet(document: Document, width: int) -> Iterator[Row]:
    code = document["recommendation"]["snippet"]
    if not code:
        return
    yield (*head("The code"), quiet("  c copies it"))
    for line in code.splitlines():
        yield row(Piece("│ ", Look.QUIET), cut(line, width - 2))
