"""What is said of the selected event or gap: a few rows at once, and all of it when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracelens.analysis.describe import callers, describe
from tracelens.analysis.parts import Part
from tracelens.analysis.where import places
from tracelens.errors import TraceLensError
from tracelens.loading.reread import event_args
from tracelens.model import units
from tracelens.model.events import ABSENT, NO_STREAM, Category, Trace
from tracelens.reporting.details import to_text
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.reporting.printable import cut
from tracelens.tui.atlas import Atlas
from tracelens.tui.inks import CLASS_INKS, glyph
from tracelens.tui.rows import Piece, Row, crop, quiet, row, strong
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session

CALLERS = 6
"""Enclosing events that are named."""
NEIGHBOUR = 48
"""Cells of the name of a kernel before or after a gap."""


def brief(session: Session, atlas: Atlas, selection: Selection, width: int, height: int = 0) -> list[Row]:
    """Four or five rows on what is selected; of more, what it is inside of has one each."""
    if selection.gap != ABSENT:
        rows = list(_gap(session, atlas, selection))
        if atlas.gaps is not None and len(rows) < height:
            rows += _inside(session.trace, int(atlas.gaps.operator[selection.gap]), height - len(rows))
    elif selection.row != ABSENT:
        rows = list(_event(session.trace, atlas, selection))
        rows += _inside(session.trace, selection.row, height - len(rows))
    else:
        gaps = ", g to the next gap, G to the worst gap" if atlas.gaps is not None else ""
        rows = [row(quiet(f"Arrows move to an event{gaps}."))]
    return [crop(line, width) for line in rows]


def _gap(session: Session, atlas: Atlas, selection: Selection) -> Iterator[Row]:
    """Why the device idled: class and part, what filled the time, and what came before and after."""
    gaps, gap, trace = atlas.gaps, selection.gap, session.trace
    if gaps is None:
        return
    start, end, part = int(gaps.start[gap]), int(gaps.end[gap]), Part(gaps.part[gap])
    ink = CLASS_INKS[part.class_name]
    cause = Piece(f"{glyph(ink)} {part.class_name}.{part.part_name}", ink)
    yield row(strong(f"gap {atlas.gap_handles[gap]}  {units.duration(end - start)}  "), cause)
    operator, before, after = int(gaps.operator[gap]), int(gaps.before[gap]), int(gaps.after[gap])
    behind = operator if operator != ABSENT else after
    where = places(trace, np.array([behind]))[0] if behind != ABSENT else None
    filled = _name(trace, operator) if operator != ABSENT else "no operator"
    yield row(quiet("filled by  "), filled, quiet("  at " if where else ""), where or "")
    first, last = (cut(kernel_title(_name(trace, end)), NEIGHBOUR) for end in (before, after))
    yield row(quiet("between    "), first, quiet("  and  "), last)
    yield row(quiet("pieces     "), *_pieces(session, gap))
    yield row(quiet(f"starts at  {units.duration(start)}"))


def _pieces(session: Session, gap: int) -> Iterator[Piece]:
    """The parts of a gap by length."""
    timeline = session.analysis.timeline
    own = np.flatnonzero(timeline.gap == gap)
    held = np.bincount(timeline.part[own], weights=(timeline.end - timeline.start)[own], minlength=len(Part))
    for number in np.argsort(-held, kind="stable").tolist():
        if held[number]:
            part = Part(number)
            ink = CLASS_INKS[part.class_name]
            said = f" {part.class_name}.{part.part_name} {units.duration(int(held[number]))}  "
            yield Piece(glyph(ink), ink)
            yield Piece(said)


def _event(trace: Trace, atlas: Atlas, selection: Selection) -> Iterator[Row]:
    """Name, times and place of an event, and how it is linked."""
    at, events = selection.row, trace.events
    yield row(strong(_name(trace, at)), quiet(f"  {atlas.handle(selection) or ''}"))
    category = Category(events.category[at]).name.lower().replace("_", " ")
    times = f"{units.duration(int(events.duration[at]))} at {units.duration(int(events.start[at]))}"
    yield row(quiet(f"{category:10} "), times, quiet("  on "), _place(trace, at))
    launch, operator = int(trace.links.launch[at]), int(trace.links.operator[at])
    if launch != ABSENT:
        waited = max(int(events.start[at] - events.end[launch]), 0)
        yield row(quiet("launched   "), _name(trace, launch), quiet(f"  {units.duration(waited)} before it started"))
    if operator not in (ABSENT, at):
        yield row(quiet("operator   "), _name(trace, operator))


def _inside(trace: Trace, at: int, height: int) -> Iterator[Row]:
    """What encloses an event, innermost first: a row for each, or one for all where there are not as many."""
    names = [_name(trace, above) for above in callers(trace, at).tolist()] if at != ABSENT else []
    lines = names if len(names) <= max(height, 0) else [" < ".join(names[:CALLERS])]
    for number, line in enumerate(lines):
        yield row(quiet("inside     " if not number else " " * 11), line)


def _name(trace: Trace, at: int) -> str:
    return trace.names[int(trace.events.name[at])] if at != ABSENT else "nothing"


def _place(trace: Trace, at: int) -> str:
    events = trace.events
    if events.device_work()[at]:
        stream = int(events.stream[at])
        return f"GPU {events.device[at]}" + (f" stream {stream}" if stream != NO_STREAM else "")
    lane = int(events.lane[at])
    thread, name = f"thread {trace.lanes.tid[lane]}", trace.lanes.thread[lane]
    return name if thread in name else f"{thread} {name}".strip()


def full(session: Session, atlas: Atlas, selection: Selection) -> list[Row]:
    """As `tracelens show` prints it, arguments included, but of the session's device and window; of events without a
    handle the arguments alone."""
    handle = atlas.handle(selection)
    try:
        bare = handle is None
        known = _bare(atlas.trace, selection.row) if bare else describe(atlas.trace, handle, session.analysis)
        return [row(line) for line in to_text(known).splitlines()]
    except TraceLensError as error:
        return [row(str(error))]


def _bare(trace: Trace, at: int) -> dict[str, Any]:
    return {"name": trace.names[int(trace.events.name[at])], "arguments": event_args(trace, at)}
