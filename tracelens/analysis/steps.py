"""The repeated work of a device: which tiles of time are counted and which step launched what."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tracelens.analysis.extent import device_rows, misplaced_work, recorded_end
from tracelens.analysis.marks import (
    Marks,
    device_steps,
    is_one_step,
    launch_period,
    named_annotation,
    profiler_steps,
    repeating_annotation,
)
from tracelens.analysis.results import Steps
from tracelens.analysis.strangers import strangers
from tracelens.analysis.threads import Threads, find_threads
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT, HOST, Bools, Category, Int32s, Int64s, Trace, among
from tracelens.model.intervals import lengths
from tracelens.model.units import duration
from tracelens.model.windows import Window

WARM_UP: Final = 1.15
"""A first step longer than this times the median of the others is left out."""
STEPS_TO_JUDGE_WARM_UP: Final = 3
"""Fewer steps tell no first one that is unlike the others."""
DRIFT: Final = 0.03
"""Of the counted time, by how much a stream that keeps up with another may drift from it. [judgement; a pipelined
training step: 2.0 %]"""
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """What a device's steps may have launched: all its work but that of other threads than theirs."""

    trace: Trace
    device: int
    threads: Threads
    rows: Int64s
    """With a launch or without, in file order."""

    @property
    def linked(self) -> Int64s:
        """The rows with a launch."""
        return self.rows[self.trace.links.launch[self.rows] != ABSENT]

    @property
    def calls(self) -> Int64s:
        """Rows of the calls that launched the work, by start, one for each of the linked rows."""
        calls = self.trace.links.launch[self.linked].astype(np.int64)
        return calls[np.argsort(self.trace.events.start[calls], kind="stable")]


def find_steps(
    trace: Trace, device: int, *, name: str | None = None, span: tuple[int, int] | Literal["all"] | None = None
) -> Steps:
    """Steps of one device.

    By ProfilerStep annotations, else an annotation that repeats, else the period of the launches, else the whole
    trace as one window. `name` asks for an annotation, `span` for a range in ns after Trace.base_ns, or "all" for
    the device's first to its last event. Raises UsageError for both, for a name that launched no device work and for
    an empty range; one that reaches beyond the recording is cut.
    """
    if span is not None and name is not None:
        raise UsageError(f"a range and the step {name!r}: each says what to judge; leave out one")
    work = _work_of(trace, device)
    steps = _named(work, name) if name is not None else _unnamed(work) if span is None else _range(work, span)
    return dataclasses.replace(steps, notes=steps.notes + strangers(trace, steps, device))


def _work_of(trace: Trace, device: int) -> _Work:
    threads, rows = find_threads(trace, device), device_rows(trace, device)
    launch = trace.links.launch[rows]
    return _Work(trace, device, threads, rows[(launch == ABSENT) | threads.own[trace.events.lane[launch]]])


def _unnamed(work: _Work) -> Steps:
    """Steps that nobody named, by the first kind of mark that leads work."""
    trace, lanes, calls = work.trace, work.threads.process, work.calls
    marks = profiler_steps(trace, lanes, calls) or device_steps(trace, work.device, work.linked)
    steps = _from_marks(work, marks) or _repeated(work, repeating_annotation(trace, lanes, calls))
    steps = steps or _repeated(work, launch_period(trace, work.rows)) or _whole(work)
    dropped = marks.notes if marks and steps.window.kind not in ("profiler_step", "single_step") else ()
    return dataclasses.replace(steps, notes=dropped + steps.notes)


def _launched(trace: Trace, rows: Int64s) -> Int64s:
    """Start of each row's launch call; of unlinked work, its own start."""
    launch = trace.links.launch[rows]
    return np.where(launch == ABSENT, trace.events.start[rows], trace.events.start.take(launch))


def _from_marks(work: _Work, marks: Marks | None) -> Steps | None:
    """Steps between marks, from the begin of one's device work to that of the next; None where they launched none."""
    if marks is None:
        return None
    marks, first = _working(work.trace, work.linked, marks)
    if not len(first):
        return None
    if len(first) == 1:
        return _single(work, marks)
    tiles = np.column_stack((first[:-1], first[1:]))
    host = np.column_stack((marks.start[:-1], marks.start[1:]))
    notes = marks.notes
    if warm_up := _warm_up(tiles):
        tiles, host, notes = tiles[1:], host[1:], (*notes, warm_up)
    owner = _owners(work, work.linked, host)
    return Steps(Window(marks.kind, marks.name, tiles), owner, host, notes, work.threads)


def _repeated(work: _Work, marks: Marks | None) -> Steps | None:
    """Steps between marks that nobody asked for: one alone is no repetition."""
    steps = _from_marks(work, marks)
    return None if steps is None or steps.window.kind == "single_step" else steps


def _working(trace: Trace, linked: Int64s, marks: Marks) -> tuple[Marks, Int64s]:
    """The marks whose work begins after that of all before, and when each one's does; of what has a time."""
    linked = linked[~misplaced_work(trace)[linked]]
    step = np.searchsorted(marks.start, _launched(trace, linked), side="right") - 1
    mine = (step >= 0) & (_launched(trace, linked) < marks.end)
    first = _begun(trace, linked[mine], step[mine], len(marks.start))
    works = np.flatnonzero(first != _NEVER)
    later = works[np.append(True, first[works][1:] > np.maximum.accumulate(first[works])[:-1])[: len(works)]]
    notes = marks.notes
    if len(works) < len(first):
        notes += (f"{_count(len(first) - len(works), 'step')} left out: no device work",)
    if len(later) < len(works):
        notes += (f"{_count(len(works) - len(later), 'step')} joined with the one before: device work out of order",)
    return dataclasses.replace(marks, start=marks.start[later], notes=notes), first[later]


def _begun(trace: Trace, rows: Int64s, step: Int64s, count: int) -> Int64s:
    """When each of the steps that launched these rows begins on the device; _NEVER where it has none of them.

    With its first event; where the busiest stream falls behind another one, as behind copies that nothing waits for,
    with its first one on that stream: the time between two steps would be the host's, and hold no step's work."""
    events = trace.events
    first = _firsts(step, events.start[rows], count)
    on = _busiest_stream(trace, rows)
    lead, done = _firsts(step[on], events.start[rows[on]], count), np.zeros(count, dtype=np.int64)
    np.maximum.at(done, step[on], events.end[rows[on]])
    return np.where(lead == _NEVER, first, lead) if _falls_behind(first, lead, done) else first


def _falls_behind(first: Int64s, lead: Int64s, done: Int64s) -> bool:
    """Whether steps begin before the busiest stream is done with the one before, and that stream's begin further and
    further from their first events."""
    works = np.flatnonzero(lead != _NEVER)
    first, lead, done = first[works], lead[works], done[works]
    if len(works) < 2 or not (first[1:] < np.maximum.accumulate(done)[:-1]).any():
        return False
    whole = first[-1] - first[0]
    return bool(abs(lead[-1] - lead[0] - whole) > DRIFT * whole)


def _firsts(step: Int64s, start: Int64s, count: int) -> Int64s:
    first = np.full(count, _NEVER)
    np.minimum.at(first, step, start)
    return first


def _busiest_stream(trace: Trace, rows: Int64s) -> Bools:
    """Mask of the rows on the stream that works longest."""
    stream = trace.events.stream[rows]
    if not len(rows) or (stream == stream[0]).all():
        return np.ones(len(rows), dtype=np.bool_)
    of = np.unique(stream, return_inverse=True)[1]
    return of == np.argmax(np.bincount(of, trace.events.duration[rows]))


def _warm_up(tiles: Int64s) -> str:
    """Why the first step is left out; "" where it is like the others."""
    took = lengths(tiles)
    if len(took) < STEPS_TO_JUDGE_WARM_UP:
        return ""
    ratio = took[0] / np.median(took[1:])
    return f"first step left out as warm-up: {ratio:.2f} x the median of the others" if ratio > WARM_UP else ""


def _single(work: _Work, marks: Marks) -> Steps:
    """The only step that worked, from its start to its end on host and device."""
    start, linked = int(marks.start[0]), work.linked
    host = np.array([[start, marks.end]], dtype=np.int64)
    owner = _owners(work, linked, host)
    last = int(work.trace.events.end[linked[owner[linked] == 0]].max())
    tiles = np.array([[start, max(last, marks.end)]], dtype=np.int64)
    note = "a single step: from its start on the host to the end of its work"
    return Steps(Window("single_step", marks.name, tiles), owner, host, (*marks.notes, note), work.threads)


def _owners(work: _Work, rows: Int64s, host: Int64s) -> Int32s:
    """Index of the ascending host interval that each of these pieces of work was launched in, and each row of the
    steps' threads began in."""
    events = work.trace.events
    time = events.start.copy()
    time[rows] = _launched(work.trace, rows)
    mask = _on_threads(work)
    mask[rows] = True
    at = np.flatnonzero(mask)
    time = time[at]
    step = np.searchsorted(host[:, 0], time, side="right") - 1
    inside = np.flatnonzero((step >= 0) & (time < np.append(host[:, 1], 0)[step]))
    owner = np.full(len(events), ABSENT, dtype=np.int32)
    owner[at[inside]] = step[inside]
    return owner


def _on_threads(work: _Work) -> Bools:
    """Mask of the host's events on the steps' threads."""
    events = work.trace.events
    return among(events.category, (*HOST, Category.MEMORY)) & work.threads.own.take(events.lane)


def _named(work: _Work, name: str) -> Steps:
    """Steps by an annotation; UsageError where it launched no work."""
    marks = named_annotation(work.trace, work.threads.process, name, work.calls)
    steps = _from_marks(work, marks)
    is_next = marks and steps and is_one_step(name) and steps.host[0, 0] != marks.start[0]
    if steps is None or is_next:
        raise UsageError(f"annotation {name!r} launched no device work: name another with --step, or leave it out")
    return steps


def _range(work: _Work, span: tuple[int, int] | Literal["all"]) -> Steps:
    """One tile that was asked for; UsageError for an empty one."""
    if span == "all":
        whole = _whole(work)
        return dataclasses.replace(whole, window=Window("range", "all", whole.window.tiles), notes=())
    if span[1] <= span[0]:
        raise UsageError(f"empty range {span[0]}..{span[1]} ns: its end must lie after its start")
    tiles, notes = _within_recording(work.trace, span)
    return Steps(Window("range", "", tiles), _owners(work, work.rows, tiles), tiles, notes, work.threads)


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


def _whole(work: _Work) -> Steps:
    """One window from the device's first to its last event; it owns all that the steps' threads did."""
    trace, events, rows = work.trace, work.trace.events, device_rows(work.trace, work.device)
    owner = np.full(len(events), ABSENT, dtype=np.int32)
    if not len(rows):
        none = np.empty((0, 2), dtype=np.int64)
        return Steps(Window("whole", "", none), owner, none, ("no device work",), work.threads)
    owner[_on_threads(work)] = 0
    owner[work.rows] = 0
    tiles = np.array([[events.start[rows].min(), events.end[rows].max()]], dtype=np.int64)
    begin = min(int(_launched(trace, rows).min()), int(tiles[0, 0]))
    host = np.array([[begin, max(recorded_end(trace), int(tiles[0, 1]))]], dtype=np.int64)
    note = "no repeated steps found: the whole trace as one window"
    return Steps(Window("whole", "", tiles), owner, host, (note,), work.threads)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
