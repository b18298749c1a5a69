"""The first screen: the verdict, the four forms, where the step goes, what costs most, and whether to trust it.

Every number leads to what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tracelens.model import units
from tracelens.reporting import phrases, runs
from tracelens.reporting.bars import LOOKS, spread
from tracelens.reporting.schema import ClassEntry, Document, FormEntry
from tracelens.tui.costs import Cost
from tracelens.tui.inks import CLASS_INKS, Ink, glyph
from tracelens.tui.links import Place
from tracelens.tui.rows import EMPTY, Look, Piece, Row, beside, cut, head, quiet, row, text, wrapped
from tracelens.tui.targets import Checks, Filtered, FormOf, Stretch, linked_lines

TWO_COLUMNS: Final = 160
"""Least width at which forms and attribution lie side by side."""
COST_KEYS: Final = ("z", "x", "c")
PARTS_AT: Final = 28
"""Column at which the parts of a class begin."""
FORM_INKS: Final = {"eager": Ink.UNKNOWN, "compile": Ink.COMMUNICATION, "replay": Ink.OPERATOR, "both": Ink.KERNEL}


def overview(document: Document, costs: Sequence[Cost], width: int) -> list[Row]:
    """All rows of the screen, at most `width` cells wide."""
    wide = width >= TWO_COLUMNS
    column = (width - 3) // 2 if wide else width
    left = [*_forms(document, column), *_costs(document, costs, column)]
    right = [*_attribution(document, column)]
    below = beside(left, right, column, gap=3) if wide else [*left, *right]
    return [*_distrust(document, width), *_verdict(document, width), EMPTY, *below, *_notes(document, width)]


def _distrust(document: Document, width: int) -> Iterator[Row]:
    """The trust checks that failed, before anything else."""
    look = Look.BAD if document["trust"]["level"] == "unusable" else Look.WARN
    for message in phrases.failed_checks(document):
        first, *rest = wrapped(message, width, Look.PLAIN, "  ")
        yield (Piece("! ", look, Checks()), Piece(first[0].text[2:]))
        yield from rest
    for message in runs.warnings(document):
        yield row(Piece("! ", Look.WARN), cut(message, width - 2))


def _verdict(document: Document, width: int) -> Iterator[Row]:
    advised = document["recommendation"]
    certain = advised["decided"] and advised["verdict"] != "neither"
    for line in wrapped(phrases.headline(document), width):
        yield (Piece(line[0].text, Look.GOOD if certain else Look.WARN, Place("advice")),)
    for said in (phrases.boundness(document), phrases.explanation(document), phrases.alternatives(document)):
        if said:
            yield from wrapped(said, width)
    said, trust = phrases.confidence(document), _trust(document)
    *sure, last = linked_lines(said, width, Look.QUIET)
    together = (*last, quiet(" "), *trust) if said else trust
    yield from [*sure, together] if len(text(together)) <= width else [*sure, last, trust]


def _trust(document: Document) -> Row:
    checks = document["trust"]["checks"]
    if not phrases.has_trace(document) or not checks:
        return EMPTY
    judged = [check for check in checks if check["value"] is not None]
    passed = len(judged) - len(phrases.failed_checks(document))
    told = f": {document['trust']['level']}, {passed} of {len(judged)} checks pass."
    return row(Piece("Trust", Look.QUIET, Checks()), quiet(told))


def _forms(document: Document, width: int) -> Iterator[Row]:
    """A bar for each form: full up to the low end of its range, shaded up to the high end."""
    rows = list(phrases.form_rows(document))
    longest = max((_high(document["forms"][form.name]) for form in rows), default=0.0)
    if not longest:
        return
    yield head(f"Four ways to run {phrases.unit(document)}, ms")
    space = max(width - 56, 8)
    for form in rows:
        entry = document["forms"][form.name]
        mark = Piece("▶ " if form.advised else "  ", Look.GOOD)
        target = FormOf(form.name) if document["run"] else Place("advice")
        name = Piece(form.name, Look.STRONG if form.advised else Look.PLAIN, target)
        numbers = f"{'':{8 - len(form.name)}}{form.step:>8} {form.range:>13} "
        said = " ".join(filter(None, (form.speedup, form.source)))
        bar = _bar(entry, longest, space, FORM_INKS[form.name])
        yield (mark, name, Piece(numbers), *bar, quiet(f" {cut(said, 22)}"))
    told = phrases.alternatives(document)
    for reason, names in phrases.blocked_forms(document).items():
        if reason not in told:
            yield from wrapped(f"{', '.join(names)}: {reason}", width, Look.QUIET, "  ")
    yield EMPTY


def _high(form: FormEntry) -> float:
    return max(form["high"] or 0.0, form["step_ms"] or 0.0)


def _bar(form: FormEntry, longest: float, space: int, ink: Ink) -> Iterator[Piece]:
    if form["step_ms"] is None:
        fails = form["blockers"] or (form["error"] and form["source"] == "measured")
        yield quiet(("cannot run" if fails else "unknown").ljust(space)[:space])
        return
    low = round(space * (form["low"] or form["step_ms"]) / longest)
    high = max(round(space * _high(form) / longest), low, 1)
    yield Piece("█" * low, ink)
    yield Piece("░" * (high - low), ink)
    yield Piece(" " * (space - high))


def _attribution(document: Document, width: int) -> Iterator[Row]:
    """One stacked bar of the window and its classes, each with its parts."""
    classes, total = document["attribution"]["classes"], document["attribution"]["window_ns"]
    if not total:
        return
    title, base = phrases.stretch(document), document["trace"]["base_ns"]
    first, last = document["window"]["intervals_ns"][0][0] - base, document["window"]["intervals_ns"][-1][1] - base
    yield (Piece(title, Look.HEAD, Stretch(first, last)), quiet(f"  {cut(phrases.step(document), width - len(title))}"))
    if how := phrases.profiled(document):
        yield row(quiet(cut(how, width)))
    cells = spread([classes[name]["ns"] for name in LOOKS], width)
    stacked = zip(LOOKS, cells, strict=True)
    yield tuple(Piece(glyph(CLASS_INKS[name]) * count, CLASS_INKS[name]) for name, count in stacked if count)
    steps = document["window"]["steps"] or 1
    for name in LOOKS:
        if classes[name]["ns"]:
            yield from _class(name, classes[name], total, steps, width)
    yield EMPTY


def _class(name: str, entry: ClassEntry, total: int, steps: int, width: int) -> Iterator[Row]:
    """A class and its parts; each leads to its gaps, or to the kernels."""
    ink = CLASS_INKS[name]
    share, time = units.share(entry["ns"] / total), units.duration(round(entry["ns"] / steps))
    front = (Piece(f"{glyph(ink)} ", ink), Piece(name, Look.STRONG, _behind(name)))
    numbers = Piece(f"{'':{9 - len(name)}}{share:>7} {time:>9}")
    parts = sorted(entry["parts"].items(), key=lambda part: -part[1])
    line: Row = (*front, numbers)
    for part, ns in parts:
        named = (quiet("  "), Piece(part, Look.QUIET, _behind(name, part)), quiet(f" {units.share(ns / total)}"))
        if ns and len(text((*line, *named))) > width:
            yield line
            line = (Piece(" " * PARTS_AT),)
        line = (*line, *named) if ns else line
    yield line


def _behind(name: str, part: str = "") -> Filtered:
    return Filtered("kernels") if name == "kernel" else Filtered("gaps", rf"\b{name}\.{part}")


def _costs(document: Document, costs: Sequence[Cost], width: int) -> Iterator[Row]:
    """The largest costs, each with the key that jumps to it."""
    if not costs:
        return
    steps = document["window"]["steps"] or 1
    yield (*head("What costs most"), quiet("  as traced; press the key to see it"))
    for key, cost in zip(COST_KEYS, costs, strict=False):
        numbers = f"{units.share(cost.share):>7} {units.duration(round(cost.ns / steps)):>9}  "
        mark, shape = Piece(f" {key} ", Look.KEY, cost.selection), Piece(glyph(cost.ink), cost.ink)
        yield row(mark, shape, numbers, cut(cost.title, width - 23))
    yield EMPTY


def _notes(document: Document, width: int) -> Iterator[Row]:
    """What was read, what was left out and what was mended."""
    trace = document["trace"]
    if document["run"] is not None:
        yield row(quiet(cut(runs.origin(document["run"]), width)))
    yield row(quiet(cut(f"{trace['path']}: {phrases.recorded(document)}, {units.size(trace['bytes'])}", width)))
    for note in (*document["window"]["notes"], *(f"repaired {phrases.repair(entry)}" for entry in trace["repairs"])):
        yield row(quiet(cut(note, width)))
