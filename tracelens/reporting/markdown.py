"""The report document as Markdown for a pull request: the answer and the forms open, the details folded."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tracelens.model import units
from tracelens.reporting import phrases, runs
from tracelens.reporting.bars import LOOKS
from tracelens.reporting.forms import of_module, reasons
from tracelens.reporting.grid import Column
from tracelens.reporting.printable import printable
from tracelens.reporting.schema import Document
from tracelens.reporting.views import View, views

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<|~#])")
_LINK: Final = re.compile(r"(?<=www)\.|:(?=//)|@", re.IGNORECASE)
_PLAIN: Final = {".": "&#46;", ":": "&#58;", "@": "&#64;<!-- -->"}
"""What makes a link or a mention, as what makes none; addresses are looked for in the text behind the entities."""
_NAMES: Final = frozenset({"kernel", "operator", "call", "where"})
"""Columns that hold words of the trace, shown as code."""


def render(document: Document) -> str:
    """GitHub-flavoured Markdown; words of the trace can neither form markup nor mention anybody."""
    sections = (_distrust, _verdict, forms, what_next, _attribution, why, _tables, _trace)
    return "\n\n".join(block for section in sections for block in section(document) if block) + "\n"


def escaped(text: str) -> str:
    """Text in which nothing is markup, a mention, a link or a line break."""
    return _LINK.sub(lambda found: _PLAIN[found[0]], _SPECIAL.sub(r"\\\1", printable(text)))


def code(text: str) -> str:
    """Text as a code span that fits a table cell; "" stays empty."""
    safe = printable(text).replace("|", "\\|")
    longest = max(map(len, re.findall("`+", safe)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{safe}{space}{fence}" if safe.strip() else ""


def _verdict(document: Document) -> Iterator[str]:
    yield "### " + escaped(phrases.headline(document)).replace("->", "→")
    said = (phrases.boundness(document), phrases.alternatives(document), phrases.confidence(document))
    yield escaped(" ".join(filter(None, said)))


def _distrust(document: Document) -> Iterator[str]:
    failed, lacks = phrases.failed_checks(document), list(runs.warnings(document))
    if lacks:
        yield "\n".join(f"> **{escaped(text)}**" for text in lacks)
    if failed:
        yield "\n".join([f"> **Trust: {document['trust']['level']}**", *(f"> - {escaped(text)}" for text in failed)])


def forms(document: Document) -> Iterator[str]:
    """The table of the forms, with what blocks them."""
    columns = [
        Column("form"),
        Column(f"ms a {phrases.noun(document)}" if phrases.is_step(document) else "ms", ">"),
        Column("range", ">"),
        Column("speed-up", ">"),
        Column("source"),
        *([Column("predicted (off)", ">"), Column("set-up pays after", ">")] if document["run"] else []),
        Column("blockers"),
    ]
    rows = (
        [
            f"**{row.name}**" if row.advised else row.name,
            *map(escaped, row[1:5]),
            *([row.predicted, row.pays_after] if document["run"] else []),
            escaped("; ".join(reasons(document, row))),
        ]
        for row in phrases.form_rows(document)
    )
    if any(form["step_ms"] for form in document["forms"].values()):
        yield table(columns, rows)
    said = (runs.not_compared(document), of_module(document), runs.between_processes(document))
    yield escaped(" ".join(filter(None, said)))


def what_next(document: Document, given: Sequence[tuple[str, str]] | None = None) -> Iterator[str]:
    """What to repair first, and the code; the steps are the `given` ones where there are any."""
    advised = document["recommendation"]
    steps = (
        f"{number}. {escaped(step)}" + (f" ({code(place)})" if place else "")
        for number, (step, place) in enumerate(phrases.placed_steps(document) if given is None else given, 1)
    )
    yield "\n".join(steps)
    yield escaped(phrases.after_fix(document))
    if advised["snippet"]:
        yield f"```python\n{advised['snippet'].strip()}\n```"


def _attribution(document: Document) -> Iterator[str]:
    classes, total = document["attribution"]["classes"], document["attribution"]["window_ns"]
    steps = document["window"]["steps"] or 1
    rows = (
        [
            name,
            units.share(classes[name]["ns"] / total),
            units.duration(round(classes[name]["ns"] / steps)),
            ", ".join(f"{part} {units.share(ns / total)}" for part, ns in classes[name]["parts"].items() if ns),
        ]
        for name in LOOKS
        if classes[name]["ns"]
    )
    if total:
        time = "time a step" if document["window"]["steps"] else "time"
        columns = [Column("class"), Column("share", ">"), Column(time, ">"), Column("parts")]
        yield _folded(
            f"{phrases.stretch(document)}: {phrases.step(document)}",
            "\n\n".join(filter(None, (escaped(phrases.profiled(document)), table(columns, rows)))),
        )


def why(document: Document, savings: str | None = None) -> Iterator[str]:
    """The advice's own words and the findings, folded; what their `savings` are of, if not of one step."""
    lines = (
        f"- **{escaped(phrases.sentence(finding['title']))}** "
        + escaped(" ".join(filter(None, (phrases.saving(finding), finding["advice"]))))
        + f" {phrases.evidence(finding)}"
        for finding in document["findings"]
    )
    text = "\n\n".join(filter(None, (escaped(phrases.explanation(document)), "\n".join(lines))))
    if text:
        savings = phrases.savings(document) if savings is None else savings
        yield _folded(f"Why ({savings})" if savings else "Why", text)


def _tables(document: Document) -> Iterator[str]:
    return (_folded(view.title + (f" ({view.more})" if view.more else ""), _view(view)) for view in views(document))


def _view(view: View) -> str:
    write = [code if column.title in _NAMES else escaped for column in view.columns]
    rows = ([show(cell) for show, cell in zip(write, row, strict=True)] for row in view.rows)
    return table(view.columns, rows)


def _trace(document: Document) -> Iterator[str]:
    trace, run = document["trace"], document["run"]
    if run is not None:
        yield "\n".join(f"- {escaped(text)}" for text in (runs.origin(run), runs.target(run)) if text)
    if not phrases.has_trace(document):
        return
    lines = [f"{code(trace['path'])}: {escaped(phrases.recorded(document))}, {units.size(trace['bytes'])}"]
    lines += [escaped(note) for note in document["window"]["notes"]]
    lines += [f"repaired {escaped(phrases.repair(entry))}" for entry in trace["repairs"]]
    yield "\n".join(f"- {line}" for line in lines)


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells that are Markdown already."""
    rules = ["---:" if column.align == ">" else "---" for column in columns]
    lines = [[column.title for column in columns], rules, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{html.escape(summary)}</summary>\n\n{body}\n\n</details>"
