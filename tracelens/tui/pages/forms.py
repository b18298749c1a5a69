"""The forms of a run side by side: times, one step of each to scale, kernels that differ, and what the compiler did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

import numpy as np

from tracelens.loading.runs import Record, Run
from tracelens.model import units
from tracelens.reporting.schema import Document
from tracelens.tui.inks import EIGHTHS, Ink
from tracelens.tui.paint import short_name
from tracelens.tui.rows import EMPTY, Look, Piece, Row, crop, cut, head, quiet, row, wrapped
from tracelens.tui.runs import Change, StepFacts, changes

SHOWN_CHANGES: Final = 8
FACTS: Final = (
    ("graph_breaks", "reason", "graph breaks"),
    ("recompiles", "guard", "recompilations"),
    ("cudagraph_skips", "reason", "CUDA Graphs skipped"),
    ("syncs", "message", "sync points"),
)
MARKS: Final = {"vanished": Piece("- ", Look.BAD), "appeared": Piece("+ ", Look.GOOD), "changed": Piece("~ ", Look.KEY)}


def forms(run: Run, facts: Mapping[str, StepFacts], document: Document, chosen: str, width: int) -> list[Row]:
    """All rows; `facts` are of the forms read so far, `document` is that of the simplest form's trace."""
    rows = [
        *_head(run, width),
        *_times(run, facts, document, chosen),
        EMPTY,
        *_steps(facts, width),
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


def _times(run: Run, facts: Mapping[str, StepFacts], document: Document, chosen: str) -> Iterator[Row]:
    """Measured against predicted, and what is left of launches and device work."""
    titles = f"  {'form':9}{'ms/step':>8} {'range':>13} {'predicted':>13} {'off':>6}"
    yield row(quiet(f"{titles} {'launches':>9} {'kernels':>8} {'device':>8}  outputs"))
    for name, record in run.forms.items():
        pointer = "▸ " if name == chosen else "  "
        measured, low, high = (record.get(key) for key in ("step_ms", "low", "high"))
        predicted = _predicted(document, name)
        times = f"{_ms(measured):>8} {_range(low, high):>13}"
        foretold = f"{_range(*predicted[1:]):>13} {_off(measured, predicted[0]):>6}"
        look = Look.STRONG if name == chosen else Look.PLAIN
        numbers = f"{times} {foretold} {_step(facts.get(name))}  {record.get('outputs', '')}"
        yield row(Piece(f"{pointer}{name:9}", look), numbers)
        if record.get("error"):
            yield row(quiet(f"           {record['error']}"))


def _step(found: StepFacts | None) -> str:
    if found is None:
        return f"{'':>9} {'':>8} {'':>8}"
    return f"{found.launches:>9.0f} {found.device_events:>8.0f} {units.duration(round(found.device_ns)):>8}"


def _predicted(document: Document, name: str) -> tuple[float | None, float | None, float | None]:
    """What the eager trace alone predicts: middle, low, high."""
    form = document["forms"].get(name)
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


def _steps(facts: Mapping[str, StepFacts], width: int) -> Iterator[Row]:
    """One traced step of each form to the same scale: when the device works."""
    if not facts:
        yield row(quiet("Reading the traces of the forms ..."))
        return
    longest = max(found.length for found in facts.values())
    space = max(width - 22, 10)
    yield (*head("One traced step"), quiet(f"  when the device works; the whole line is {units.duration(longest)}"))
    for name, found in facts.items():
        columns = max(space * found.length // longest, 1)
        edges = found.length * np.arange(columns + 1, dtype=np.int64) // columns
        level = np.ceil(found.busy.shares(edges) * (len(EIGHTHS) - 1)).astype(int)
        bar = "".join(EIGHTHS[one] for one in level.tolist())
        yield row(f"  {name:9}", Piece(bar, Ink.KERNEL), quiet(f"▏{units.duration(found.length)}"))
    yield EMPTY


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
        yield row(MARKS[one.kind], f"{_change(one)}  {cut(short_name(one.name), max(width - 44, 10))}")
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
    counts = [f"{record[key]} {words}" for key, words in _COUNTS if record.get(key) is not None]
    yield from wrapped(", ".join(counts) or "nothing counted", width, Look.PLAIN, "  ")
    for key, field, title in FACTS:
        for found in cast("list[Record]", record.get(key) or []):
            where = f" at {found['where']}" if found.get("where") else ""
            reason = found.get(field) or ""
            yield from wrapped(f"{title}: {found.get('count', 1)} x {reason}{where}", width, Look.PLAIN, "  ")
    for blocker in cast("list[Record]", record.get("blockers") or []):
        yield from wrapped(f"blocked: {blocker.get('message')}", width, Look.WARN, "  ")


_COUNTS: Final = (
    ("compiler_graphs", "graphs compiled"),
    ("triton_kernels", "Triton kernels"),
    ("cuda_graphs", "CUDA Graphs"),
    ("setup_s", "s to set up"),
    ("peak_mib", "MiB at the peak"),
)
