"""The forms of a run side by side: times, kernels that differ, and what the compiler did."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, cast

from tracelens.loading.runs import Record, Run
from tracelens.model import units
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.reporting.printable import cut as cut_inside
from tracelens.reporting.schema import Document
from tracelens.tui.rows import EMPTY, Look, Piece, Row, crop, cut, head, quiet, row, wrapped
from tracelens.tui.runs import Change, StepFacts, changes
from tracelens.tui.targets import FormOf, KernelOf

SHOWN_CHANGES: Final = 40
WIDE: Final = 100
"""Cells from which on the ranges of the measurements have room."""
FACTS: Final = (
    ("graph_breaks", "reason", "graph breaks"),
    ("recompiles", "guard", "recompilations"),
    ("cudagraph_skips", "reason", "CUDA Graphs skipped"),
    ("syncs", "message", "sync points"),
)
MARKS: Final = {"vanished": Piece("- ", Look.BAD), "appeared": Piece("+ ", Look.GOOD), "changed": Piece("~ ", Look.KEY)}


def forms(
    run: Run,
    facts: Mapping[str, StepFacts],
    unread: Collection[str],
    document: Document | None,
    chosen: str,
    width: int,
) -> list[Row]:
    """All rows; `facts` are of the forms read so far, `unread` those that will be.

    `document` is that of the simplest form's trace, None where it is of less than the window."""
    rows = [
        *_head(run, width),
        *_times(run, facts, unread, document, chosen, ranges=width >= WIDE),
        *_without_predictions(document),
        EMPTY,
        *_changes(facts, chosen, width),
        *_compiler(run, chosen, width),
    ]
    return [crop(line, width) for line in rows]


def _head(run: Run, width: int) -> Iterator[Row]:
    target, command = run.manifest.get("target"), run.manifest.get("command")
    words = " ".join(map(str, cast("list[object]", command))) if isinstance(command, list) else str(command or "")
    named = cast("Record", target).get("name") if isinstance(target, dict) else None
    yield (*head("Forms of the same step"), quiet(cut(f"  {named or ''}  {words}", width - 24)))
    if not run.manifest.get("complete"):
        yield (Piece("! ", Look.WARN), Piece("This run was not finished; what it measured is shown."))


def _without_predictions(document: Document | None) -> Iterator[Row]:
    if document is None:
        yield row(quiet("  Predictions of a range are not those of a step; V shows the whole window's."))


def _times(
    run: Run,
    facts: Mapping[str, StepFacts],
    unread: Collection[str],
    document: Document | None,
    chosen: str,
    *,
    ranges: bool,
) -> Iterator[Row]:
    """Measured against predicted, and what is left of launches and device work."""
    titles = f"  {'form':8}{'ms/step':>8}{'range':>14}" if ranges else f"  {'form':8}{'ms/step':>8}"
    yield row(quiet(f"{titles} {'predicted':>12} {'off':>6} {'launches':>8} {'kernels':>7} {'device':>7}  outputs"))
    for name, record in run.forms.items():
        pointer = "▸ " if name == chosen else "  "
        measured, low, high = (record.get(key) for key in ("step_ms", "low", "high"))
        predicted = _predicted(document, name)
        span = f"{_range(low, high):>14}" if ranges else ""
        times = f"{'':{8 - len(name)}}{_ms(measured):>8}{span}"
        foretold = f"{_range(*predicted[1:]):>12} {_off(measured, predicted[0]):>6}"
        look = Look.STRONG if name == chosen else Look.PLAIN
        outputs = record.get("outputs")
        said = ", ".join(filter(None, ("not compared" if outputs == "unchecked" else outputs, record.get("variant"))))
        numbers = f"{times} {foretold} {_step(facts.get(name), name in unread)}  {said}"
        yield row(pointer, Piece(name, look, FormOf(name)), numbers)
        if record.get("error"):
            yield row(quiet(f"           {record['error']}"))


def _step(found: StepFacts | None, unread: bool) -> str:
    if found is None:
        return f"{'loading' if unread else '':>8} {'':>7} {'':>7}"
    return f"{found.launches:>8.0f} {found.device_events:>7.0f} {units.duration(round(found.device_ns)):>7}"


def _predicted(document: Document | None, name: str) -> tuple[float | None, float | None, float | None]:
    """What the eager trace alone predicts: middle, low, high."""
    form = document["forms"].get(name) if document is not None else None
    if form is None:
        return None, None, None
    if form["predicted"] is not None:
        return form["predicted"]["step_ms"], form["predicted"]["low"], form["predicted"]["high"]
    return (form["step_ms"], form["low"], form["high"]) if form["source"] == "predicted" else (None, None, None)


def _ms(value: object) -> str:
    return units.milliseconds(value) if isinstance(value, int | float) else "-"


def _range(low: object, high: object) -> str:
    return f"{_ms(low)}-{_ms(high)}" if low is not None and high is not None else ""


def _off(measured: object, predicted: float | None) -> str:
    """How far the prediction's middle is from the measurement."""
    if not isinstance(measured, int | float) or not measured or predicted is None:
        return ""
    return f"{100 * (predicted / measured - 1):+.0f} %"


def _changes(facts: Mapping[str, StepFacts], chosen: str, width: int) -> Iterator[Row]:
    """Kernels that vanished, appeared or changed from the simplest form to the chosen one."""
    first = next(iter(facts), None)
    if first is None or chosen not in facts or chosen == first:
        return
    before, after = facts[first], facts[chosen]
    found = changes(before, after)
    number = {kind: sum(one.kind == kind for one in found) for kind in MARKS}
    said = ", ".join(f"{count} {kind}" for kind, count in number.items())
    removed = before.launches - after.launches
    yield (*head(f"Kernels, {first} to {chosen}"), quiet(f"  {said}; {removed:.0f} launches removed"))
    for one in found[:SHOWN_CHANGES]:
        name = Piece(cut_inside(kernel_title(one.name), max(width - 44, 10)), Look.PLAIN, KernelOf(one.name))
        yield row(MARKS[one.kind], f"{_change(one)}  ", name)
    if len(found) > SHOWN_CHANGES:
        yield row(quiet(f"  and {len(found) - SHOWN_CHANGES} more"))
    yield EMPTY


def _change(one: Change) -> str:
    (few, short), (many, long) = one.before, one.after
    return f"{few:>5.0f} > {many:<5.0f} {units.duration(round(short)):>9} > {units.duration(round(long)):<9}"


def _compiler(run: Run, chosen: str, width: int) -> Iterator[Row]:
    """Breaks, recompilations, skips and syncs that the recording saw, with their places."""
    record = run.forms.get(chosen, {})
    yield head(f"What was seen of {chosen}")
    counts = [f"{_count(record[key])} {words}" for key, words in _COUNTS if record.get(key) is not None]
    yield from wrapped(", ".join(counts) or "nothing counted", width, Look.PLAIN, "  ")
    for key, field, title in FACTS:
        for found in cast("list[Record]", record.get(key) or []):
            where = f"at {found['where']}" if found.get("where") else ""
            told = " ".join(filter(None, (f"{found.get('count', 1)} x", found.get(field), where)))
            yield from wrapped(f"{title}: {told}", width, Look.PLAIN, "  ")
    for blocker in cast("list[Record]", record.get("blockers") or []):
        yield from wrapped(f"blocked: {blocker.get('message')}", width, Look.WARN, "  ")


def _count(value: object) -> str:
    return units.significant(value) if isinstance(value, float) else str(value)


_COUNTS: Final = (
    ("compiler_graphs", "graphs compiled"),
    ("triton_kernels", "Triton kernels"),
    ("cuda_graphs", "CUDA Graphs"),
    ("setup_s", "s to set up"),
    ("peak_mib", "MiB at the peak"),
)
