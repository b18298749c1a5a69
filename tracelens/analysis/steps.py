"""The repeated work of a device: which tiles of time are counted and which step launched what."""

from __future__ import annotations

import dataclasses
from typing import Final, Literal

import numpy as np

from tracelens.analysis.extent import HOST, device_ids, device_rows, recorded_end
from tracelens.analysis.marks import (
    Marks,
    is_one_step,
    launch_period,
    named_annotation,
    profiler_steps,
    repeating_annotation,
)
from tracelens.analysis.results import Steps
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT, Category, Int32s, Int64s, Trace, among
from tracelens.model.units import duration
from tracelens.model.windows import Window

__all__ = ["device_ids", "find_steps"]

WARM_UP: Final = 1.15
"""A first step longer than this times the median of the others is left out."""
STEPS_TO_JUDGE_WARM_UP: Final = 3


def find_steps(
    trace: Trace, device: int, *, name: str | None = None, span: tuple[int, int] | Literal["all"] | None = None
) -> Steps:
    """Steps of one device.

    By ProfilerStep annotations, else an annotation that repeats, else the period of the launches, else the whole
    trace as one window. `name` asks for an annotation, `span` for a range in ns after Trace.base_ns, or "all" for
    the device's first to its last event. Raises UsageError for both, for a name that launched no device work and for
    an empty range; one that reaches beyond the recording is cut.
    """
    rows = device_rows(trace, device)
    if span is not None and name is not None:
        raise UsageError(f"a range and the step {name!r}: each says what to judge; leave out one")
    if span is not None:
        return _range(trace, rows, span)
    if name is not None:
        return _named(trace, rows, name)
    launched = np.sort(_launched(trace, rows)[trace.links.launch[rows] != ABSENT])
    marks = profiler_steps(trace)
    steps = _from_marks(trace, rows, marks)
    steps = steps or _repeated(trace, rows, repeating_annotation(trace, launched))
    steps = steps or _repeated(trace, rows, launch_period(trace, rows)) or _whole(trace, rows)
    dropped = marks.notes if marks and steps.window.kind not in ("profiler_step", "single_step") else ()
    return dataclasses.replace(steps, notes=dropped + steps.notes)


def _launched(trace: Trace, rows: Int64s) -> Int64s:
    """Start of each row's launch call; of unlinked work, its own start."""
    launch = trace.links.launch[rows]
    return np.where(launch == ABSENT, trace.events.start[rows], trace.events.start[launch])


def _from_marks(trace: Trace, rows: Int64s, marks: Marks | None) -> Steps | None:
    """Steps between marks, from first device event to first device event; None where they launched no work."""
    if marks is None:
        return None
    linked = rows[trace.links.launch[rows] != ABSENT]
    marks, first = _working(trace, linked, marks)
    if not len(first):
        return None
    if len(first) == 1:
        return _single(trace, linked, marks)
    tiles = np.column_stack((first[:-1], first[1:]))
    host = np.column_stack((marks.start[:-1], marks.start[1:]))
    notes = marks.notes
    if warm_up := _warm_up(tiles):
        tiles, host, notes = tiles[1:], host[1:], (*notes, warm_up)
    owner = _owners(trace, linked, host)
    return Steps(Window(marks.kind, marks.name, tiles), owner, host, notes)


def _repeated(trace: Trace, rows: Int64s, marks: Marks | None) -> Steps | None:
    """Steps between marks that nobody asked for: one alone is no repetition."""
    steps = _from_marks(trace, rows, marks)
    return None if steps is None or steps.window.kind == "single_step" else steps


def _working(trace: Trace, linked: Int64s, marks: Marks) -> tuple[Marks, Int64s]:
    """The marks whose work starts after that of all before, and the start of each one's first device event."""
    none = np.iinfo(np.int64).max
    step = np.searchsorted(marks.start, _launched(trace, linked), side="right") - 1
    mine = np.flatnonzero((step >= 0) & (_launched(trace, linked) < marks.end))
    first = np.full(len(marks.start), none)
    np.minimum.at(first, step[mine], trace.events.start[linked[mine]])
    works = np.flatnonzero(first != none)
    later = works[np.append(True, first[works][1:] > np.maximum.accumulate(first[works])[:-1])[: len(works)]]
    notes = marks.notes
    if len(works) < len(first):
        notes += (f"{_count(len(first) - len(works), 'step')} left out: no device work",)
    if len(later) < len(works):
        notes += (f"{_count(len(works) - len(later), 'step')} joined with the one before: device work out of order",)
    return dataclasses.replace(marks, start=marks.start[later], notes=notes), first[later]


def _warm_up(tiles: Int64s) -> str:
    """Why the first step is left out; "" where it is like the others."""
    lengths = tiles[:, 1] - tiles[:, 0]
    if len(lengths) < STEPS_TO_JUDGE_WARM_UP:
        return ""
    ratio = lengths[0] / np.median(lengths[1:])
    return f"first step left out as warm-up: {ratio:.2f} x the median of the others" if ratio > WARM_UP else ""


def _single(trace: Trace, linked: Int64s, marks: Marks) -> Steps:
    """The only step that worked, from its start to its end on host and device."""
    start = int(marks.start[0])
    host = np.array([[start, marks.end]], dtype=np.int64)
    owner = _owners(trace, linked, host)
    last = int(trace.events.end[linked[owner[linked] == 0]].max())
    tiles = np.array([[start, max(last, marks.end)]], dtype=np.int64)
    note = "a single step: from its start on the host to the end of its work"
    return Steps(Window("single_step", marks.name, tiles), owner, host, (*marks.notes, note))


def _owners(trace: Trace, work: Int64s, host: Int64s) -> Int32s:
    """Index of the ascending host interval that each piece of work was launched in, and each host row began in."""
    events = trace.events
    time = events.start.copy()
    time[work] = _launched(trace, work)
    mask = among(events.category, (*HOST, Category.MEMORY))
    mask[work] = True
    at = np.flatnonzero(mask)
    step = np.searchsorted(host[:, 0], time[at], side="right") - 1
    inside = (step >= 0) & (time[at] < np.append(host[:, 1], 0)[step])
    owner = np.full(len(events), ABSENT, dtype=np.int32)
    owner[at[inside]] = step[inside]
    return owner


def _named(trace: Trace, rows: Int64s, name: str) -> Steps:
    marks = named_annotation(trace, name)
    steps = _from_marks(trace, rows, marks)
    is_next = marks and steps and is_one_step(name) and steps.host[0, 0] != marks.start[0]
    if steps is None or is_next:
        raise UsageError(f"annotation {name!r} launched no device work: name another with --step, or leave it out")
    return steps


def _range(trace: Trace, rows: Int64s, span: tuple[int, int] | Literal["all"]) -> Steps:
    if span == "all":
        whole = _whole(trace, rows)
        return dataclasses.replace(whole, window=Window("range", "all", whole.window.tiles), notes=())
    if span[1] <= span[0]:
        raise UsageError(f"empty range {span[0]}..{span[1]} ns: its end must lie after its start")
    tiles, notes = _within_recording(trace, span)
    return Steps(Window("range", "", tiles), _owners(trace, rows, tiles), tiles, notes)


def _within_recording(trace: Trace, span: tuple[int, int]) -> tuple[Int64s, tuple[str, ...]]:
    """The range as a tile, cut to what was recorded unless it lies outside: unrecorded time is no part of a step."""
    end = recorded_end(trace)
    low, high = max(span[0], 0), min(span[1], end)
    if (low, high) == span:
        return np.array([span], dtype=np.int64), ()
    recording = f"the recording, which lasts {duration(end)}"
    if high <= low:
        return np.array([span], dtype=np.int64), (f"the range lies outside {recording}",)
    return np.array([[low, high]], dtype=np.int64), (f"the range is cut to {recording}",)


def _whole(trace: Trace, rows: Int64s) -> Steps:
    """One window from the device's first to its last event; it owns all there is."""
    owner = np.full(len(trace.events), ABSENT, dtype=np.int32)
    if not len(rows):
        none = np.empty((0, 2), dtype=np.int64)
        return Steps(Window("whole", "", none), owner, none, ("no device work",))
    events = trace.events
    owner[among(events.category, (*HOST, Category.MEMORY))] = 0
    owner[rows] = 0
    tiles = np.array([[events.start[rows].min(), events.end[rows].max()]], dtype=np.int64)
    begin = min(int(_launched(trace, rows).min()), int(tiles[0, 0]))
    host = np.array([[begin, max(recorded_end(trace), int(tiles[0, 1]))]], dtype=np.int64)
    return Steps(Window("whole", "", tiles), owner, host, ("no repeated steps found: the whole trace as one window",))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
