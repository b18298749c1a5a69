"""The report document as text for a terminal: what to distrust, the verdict, why, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from tracelens.model import units
from tracelens.reporting import phrases, runs
from tracelens.reporting.bars import LOOKS, spread
from tracelens.reporting.forms import of_module
from tracelens.reporting.grid import Column
from tracelens.reporting.ink import Ink
from tracelens.reporting.page import LEAST_WIDTH, Page
from tracelens.reporting.schema import ClassEntry, Document, FindingEntry
from tracelens.reporting.views import views

FORM_BAR: Final = 10
"""Columns of the longest form's bar."""
ROOMY: Final = 60
"""Columns from which the source of a form's time is never cut where nothing else follows."""
SHOWN_FINDINGS: Final = 5
"""Findings in text; --limit 0 and --json have them all."""
_SEVERITY: Final = {"critical": "red", "warning": "yellow", "info": "cyan"}


def render(
    document: Document, *, width: int = 80, color: bool = False, unicode: bool = True, whole: bool = False
) -> str:
    """Lines of at most `width` columns (40 or more), coloured or plain; ASCII glyphs unless `unicode`. Only a few
    findings unless `whole`."""
    page = Page(max(LEAST_WIDTH, width), Ink(color), unicode)
    findings = partial(why, shown=None if whole else SHOWN_FINDINGS)
    sections = (_distrust, _verdict, _attribution, forms, findings, what_next, _tables, _run, _source)
    lines = [line for section in sections for line in section(document, page)]
    return "\n".join(lines).strip("\n") + "\n"


def _distrust(document: Document, page: Page) -> Iterator[str]:
    """What a run lacks and the trust checks that failed, before anything else."""
    level, failed = document["trust"]["level"], phrases.failed_checks(document)
    lacks = list(runs.warnings(document))
    for warning in lacks:
        yield from page.text(warning, "  ", "! ", "yellow", "bold")
    if lacks and not failed:
        yield ""
    if not failed:
        return
    color = "red" if level == "unusable" else "yellow"
    yield from page.text(f"Trust: {level}", "  ", "! ", color, "bold")
    for message in failed:
        yield from page.text(message, "    ", "  - ", color)
    yield ""


def _verdict(document: Document, page: Page) -> Iterator[str]:
    yield from page.text(phrases.headline(document), "", None, "bold")
    yield from page.text(f"{phrases.boundness(document)} {phrases.alternatives(document)}".strip())
    yield from page.text(phrases.confidence(document), "", None, "dim")


def _attribution(document: Document, page: Page) -> Iterator[str]:
    """A stacked bar of the window and its legend."""
    classes, total = document["attribution"]["classes"], document["attribution"]["window_ns"]
    if not total:
        return
    yield from page.heading(phrases.stretch(document), phrases.step(document))
    yield from page.text(phrases.profiled(document), "  ")
    widths = spread([classes[name]["ns"] for name in LOOKS], page.width - 2)
    stacked = zip(LOOKS.values(), widths, strict=True)
    yield "  " + "".join(page.ink(page.glyph(look) * size, look.color) for look, size in stacked)
    steps = document["window"]["steps"] or 1
    for name, look in LOOKS.items():
        if classes[name]["ns"]:
            yield from _legend(page, page.ink(page.glyph(look), look.color), name, classes[name], total, steps)


def _legend(page: Page, glyph: str, name: str, entry: ClassEntry, total: int, steps: int) -> Iterator[str]:
    """One class: its share, its time in a step, and its parts by size."""
    head = f"{name:9}{units.share(entry['ns'] / total):>7}{units.duration(round(entry['ns'] / steps)):>10}  "
    parts = sorted(entry["parts"].items(), key=lambda part: -part[1])
    named = [f"{part} {units.share(ns / total)}" for part, ns in parts if ns]
    beside = 4 + len(head)
    if beside + max(map(len, named)) < page.width:
        first, *rest = page.text(", ".join(named), " " * beside, "    " + head)
        yield f"  {glyph} {first[4:]}"
        yield from rest
    else:
        yield f"  {glyph} {head.rstrip()}"
        yield from page.text(", ".join(named), " " * 6)


def forms(document: Document, page: Page) -> Iterator[str]:
    """The table of the forms, and what blocks them."""
    times = [document["forms"][row.name]["step_ms"] or 0.0 for row in phrases.form_rows(document)]
    longest = max(times, default=0.0)
    if longest:
        yield from page.heading(f"Four ways to run {phrases.unit(document)}")
        yield from _form_table(document, [time / longest for time in times], page)
        yield from _form_notes(document, page)
    elif document["run"] and document["run"]["measured"]:
        yield from page.heading("What was tried")
        yield from _form_notes(document, page)


def _form_table(document: Document, lengths: list[float], page: Page) -> Iterator[str]:
    rows = list(phrases.form_rows(document))
    full, mark = ("━", "▶") if page.unicode else ("=", ">")
    shrinks = page.width < ROOMY or any(row.predicted for row in rows)
    columns = [
        Column("  form"),
        Column(f"ms/{phrases.noun(document)}" if phrases.is_step(document) else "ms", ">"),
        Column("range", spare=1),
        Column("speed-up", ">", spare=4),
        Column("source", least=9 if shrinks else 0, spare=2),
        Column("predicted (off)", spare=3),
        Column("", spare=5),
    ]
    bars = [full * math.ceil(FORM_BAR * length) for length in lengths]
    lines = [
        [f"{mark if row.advised else ' '} {row.name}", row.step, row.range, row.speedup, row.source, row.predicted, bar]
        for row, bar in zip(rows, bars, strict=True)
    ]
    titles, *table = page.table(columns, lines)
    yield from (titles, *table)
    yield from hidden(columns, lines, titles, page)


def hidden(columns: list[Column], lines: list[list[str]], titles: str, page: Page) -> Iterator[str]:
    """The columns that a narrow page leaves out."""
    filled = [column.title for column, cells in zip(columns, zip(*lines, strict=True), strict=True) if any(cells)]
    lacking = [title for title in filled if title.strip() not in titles]
    if lacking:
        yield from page.text(f"A wider page shows {', '.join(lacking)} as well.", "    ", None, "dim")


def _form_notes(document: Document, page: Page) -> Iterator[str]:
    """What blocks forms, and when measured ones have paid for their set-up."""
    for reason, names in phrases.blocked_forms(document).items():
        yield from page.text(f"{', '.join(names)}: {reason}", "      ", "    ")
    yield from page.text(runs.set_up(document), "    ")
    yield from page.text(runs.not_compared(document), "    ")
    yield from page.text(of_module(document), "    ")
    yield from page.text(runs.between_processes(document), "    ")


def why(
    document: Document, page: Page, savings: str | None = None, *, shown: int | None = SHOWN_FINDINGS
) -> Iterator[str]:
    """The advice's own words and the findings, at most so many; what their `savings` are of, if not of one step."""
    findings, summary = document["findings"], phrases.explanation(document)
    if findings or summary:
        yield from page.heading("Why", phrases.savings(document) if savings is None else savings)
    yield from page.text(summary, "  ")
    for finding in findings[:shown]:
        yield from _finding(finding, page)
    if shown is not None and len(findings) > shown:
        yield page.ink(f"  {len(findings) - shown} more; --limit 0 shows all", "dim")


def _finding(finding: FindingEntry, page: Page) -> Iterator[str]:
    said = filter(None, (phrases.sentence(finding["title"]), phrases.saving(finding), phrases.evidence(finding)))
    first, *rest = page.text(" ".join(said), "    ", "  - ")
    yield "  " + page.ink("-", _SEVERITY.get(finding["severity"], "cyan")) + first[3:]
    yield from rest
    yield from page.text(finding["advice"], "    ", None, "dim")


def what_next(document: Document, page: Page, given: Sequence[tuple[str, str]] | None = None) -> Iterator[str]:
    """What to repair first, the code that applies the verdict, and what the repairs would allow; the steps are the
    `given` ones, each with its place, where there are any."""
    advised = document["recommendation"]
    steps = phrases.next_steps(document) if given is None else phrases.with_places(given)
    if not (steps or advised["snippet"] or advised["after_fix"]):
        return
    yield from page.heading("What to do next")
    for number, step in enumerate(steps, 1):
        yield from page.text(step, "     ", f"  {number}. ")
    yield from page.text(phrases.after_fix(document), "  ")
    yield from page.code(advised["snippet"])


def _tables(document: Document, page: Page) -> Iterator[str]:
    for view in views(document):
        yield from page.heading(view.title, view.more)
        yield from page.table(view.columns, view.rows)


def _run(document: Document, page: Page) -> Iterator[str]:
    """The run directory, and what was repeated."""
    run = document["run"]
    if run is None:
        return
    yield from page.heading("Run")
    yield from page.text(runs.origin(run), "  ")
    yield from page.text(runs.target(run), "  ")


def _source(document: Document, page: Page) -> Iterator[str]:
    """The file, what was left out of the window, and what was mended while reading."""
    trace = document["trace"]
    if not phrases.has_trace(document):
        return
    yield from page.heading("Trace")
    yield from page.text(f"{trace['path']}: {phrases.recorded(document)}, {units.size(trace['bytes'])}", "  ")
    for note in document["window"]["notes"]:
        yield from page.text(note, "  ")
    for entry in trace["repairs"]:
        yield from page.text(f"repaired {phrases.repair(entry)}", "    ", "  ")
