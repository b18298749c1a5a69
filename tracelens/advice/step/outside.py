"""Host work that no form of a step takes away: data loading, allocation, Python that runs no operator for long, and
operators that compute on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.analysis.clocks import clocks_agree
from tracelens.analysis.extent import device_rows
from tracelens.analysis.host_activity import INPUT, launching_threads
from tracelens.analysis.marks import STEP_NUMBER
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis
from tracelens.analysis.tables.syncs import own_waits
from tracelens.analysis.timeline import DISPATCH
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Role, among
from tracelens.model.intervals import covered, intersect, length, lengths, subtract, union
from tracelens.model.masks import mask_of
from tracelens.model.names import named
from tracelens.model.nesting import nearest
from tracelens.model.once import once

LONG: Final = 500_000
"""ns without any operator from which the host does not dispatch but works. [H200: at most 463 us in 45 traces of
steps without such work, with_stack included; an operator takes 5 to 50 us]"""
RECURRING: Final = 0.5
"""Share of the steps that work of each comes back in, at least. [judgement]"""
UNCLEAR: Final = 300_000
"""ns without any operator that may be either, where every step has as much. [H200: up to 426 us in every step of 3 of
200 traces without such work, 478 us in single ones]"""


@once
def stretches(analysis: Analysis) -> Int64s:
    """Interval set of the idle time of the window in which the host dispatched nothing for LONG or more, in ns: it ran
    no operator, or one that computes on the host.

    What follows a wait counts as well: the account calls it refill as far as the wait overlapped work, but a host that
    does not launch does not refill."""
    found = _still(analysis)
    return found[lengths(found) >= LONG]


def _recurring(analysis: Analysis) -> Int64s:
    """Those stretches, where most steps have some: a pause of single steps, as to collect garbage, is no work of
    each."""
    found = stretches(analysis)
    return found if comes_back(analysis, found) else found[:0]


def comes_back(analysis: Analysis, intervals: Int64s) -> bool:
    """Whether an interval begins in most of the counted steps; what is rarer is a pause."""
    return steps_with(analysis, intervals) >= RECURRING * len(analysis.window.tiles)


def steps_with(analysis: Analysis, intervals: Int64s) -> int:
    """How many of the counted steps hold the start of an interval."""
    return len(np.unique(analysis.window.tiles[:, 0].searchsorted(intervals[:, 0], side="right")))


@once
def _still(analysis: Analysis) -> Int64s:
    """The same of UNCLEAR or more."""
    found = _idle(analysis, Part.DISPATCH_PYTHON, Part.SYNC_REFILL)
    if len(computed := _computed(analysis)):
        found = np.concatenate((found, intersect(computed, _idle(analysis, Part.DISPATCH_FRAMEWORK))))
        found = union(found[:, 0], found[:, 1])
    found = found[lengths(found) >= UNCLEAR]
    found = subtract(found, _dispatching(analysis)) if len(found) else found
    return found[lengths(found) >= UNCLEAR]


@once
def computing(analysis: Analysis) -> Int64s:
    """Rows of operators and unknown calls that take UNCLEAR or more and neither submit, wait nor allocate, nor do the
    operators within: they compute on the host, as those of tensors in its memory, where dispatch takes 5 to 50 us.

    What is part of the step comes back in each: an operator of dispatch that long is held up. [H200: up to 1,447 us in
    single steps of 200 traces, at most 303 us in every step, of splits into very many]"""
    events, parent = analysis.trace.events, analysis.trace.links.parent
    spans = (events.category == Category.OPERATOR) | (events.category == Category.RUNTIME) & (events.role == Role.OTHER)
    rows = np.flatnonzero(spans & (events.duration >= UNCLEAR) & events.complete() & _launching(analysis))
    long = mask_of(rows, len(events))
    calls = np.flatnonzero((events.category == Category.RUNTIME) & (events.role != Role.OTHER))
    while len(rows) and len(calls := calls[calls != ABSENT]):
        long[calls] = False
        calls = np.unique(nearest(parent, parent[calls], long))
    return _steady(analysis, np.flatnonzero(long))


def _steady(analysis: Analysis, rows: Int64s) -> Int64s:
    """Those of the rows with a name that some of them have in every counted step, also behind the last, whose end the
    window holds."""
    name, step = analysis.trace.events.name[rows], analysis.steps.owner[rows]
    names, kind = np.unique(name, return_inverse=True)
    seen = np.zeros((len(names), len(analysis.window.tiles) + 1), dtype=np.bool_)
    seen[kind, step] = True
    always: Bools = np.logical_and.reduce(seen[:, :-1], axis=1)
    return rows[always[kind]]


def mainly_computing(analysis: Analysis, spans: Int64s) -> str | None:
    """The operator that computes for most of a set of intervals; None where other work takes more than half of it."""
    events, rows = analysis.trace.events, computing(analysis)
    if 2 * length(intersect(spans, _computed(analysis))) <= length(spans):
        return None
    spent = covered(spans, events.start[rows], events.end[rows])
    names, kind = np.unique(events.name[rows], return_inverse=True)
    return analysis.trace.names[int(names[np.bincount(kind, weights=spent).argmax()])]


def computes_within(analysis: Analysis) -> bool:
    """Whether operators compute on the host between launches in every counted step: no graph holds what they do."""
    events, rows = analysis.trace.events, computing(analysis)
    rows = rows[events.category[rows] == Category.OPERATOR]
    computed = subtract(union(events.start[rows], events.end[rows]), _fetches(analysis))
    found = _between(analysis, computed)
    step = np.searchsorted(analysis.steps.host[:, 0], found[:, 0], side="right") - 1
    return len(np.unique(step)) == len(analysis.window.tiles) > 1


def _computed(analysis: Analysis) -> Int64s:
    """When operators compute on the host."""
    rows = computing(analysis)
    return union(analysis.trace.events.start[rows], analysis.trace.events.end[rows])


@dataclass(frozen=True)
class Outside:
    """Host time of a step in such work, in ns as traced."""

    idle: float = 0.0
    """While the device waits for it."""
    apart: float = 0.0
    """What of that follows a wait, with too little launched since to work on meanwhile."""
    covered: float = 0.0
    """While the device was busy still."""
    left: float = 0.0
    """How often a step the host turns to such work of LONG or more between operators of the step, those that compute on
    the host apart, which compiled code calls."""
    beyond: float = 0.0
    """Time over LONG of that work: where it is short, dispatch may be all that it is."""
    unclear: float = 0.0
    """Idle time that may be such work or dispatch, in stretches of UNCLEAR to LONG."""


def find_outside(analysis: Analysis) -> Outside:
    """Time per counted step in such work, where the clocks of host and device tell."""
    if not clocks_agree(analysis.trace):
        return Outside()
    long, idle, steps = _recurring(analysis), idle_outside(analysis), max(len(analysis.window.tiles), 1)
    apart, beside = length(idle) - _behind_launches(analysis, idle), length(_whole(analysis, idle)) - length(idle)
    left = _between(analysis, subtract(long, _computed(analysis)))
    left = left[lengths(left) >= LONG]
    beyond = length(left) - LONG * len(left)
    unclear = _unclear(analysis)
    return Outside(length(idle) / steps, apart / steps, beside / steps, len(left) / steps, beyond / steps, unclear)


@once
def idle_outside(analysis: Analysis) -> Int64s:
    """Interval set of all such work while the device waits for it, in ns."""
    parts = _idle(analysis, Part.DISPATCH_INPUT, Part.DISPATCH_ALLOCATOR)
    fetched = intersect(_fetches(analysis), _idle(analysis, *DISPATCH))
    found = np.concatenate((_recurring(analysis), parts, fetched))
    found = union(found[:, 0], found[:, 1])
    return found if clocks_agree(analysis.trace) else found[:0]


def unclear_stretches(analysis: Analysis) -> Int64s:
    """Interval set of the same that is shorter than LONG, in ns: too short to be told from dispatch."""
    found = _still(analysis)
    return found[lengths(found) < LONG]


def _unclear(analysis: Analysis) -> float:
    """Ns of a step in such stretches: the least of any step, as work that is part of it comes back in each."""
    found, tiles = unclear_stretches(analysis), analysis.window.tiles
    return float(covered(found, tiles[:, 0], tiles[:, 1]).min()) if len(found) and len(tiles) else 0.0


def _between(analysis: Analysis, long: Int64s) -> Int64s:
    """The intervals that lie between work of the host for one step, input apart: not before its first or behind its
    last."""
    works, steps = subtract(_dispatching(analysis), _fetches(analysis))[:, 0], analysis.steps.host
    step = np.searchsorted(steps[:, 0], long[:, 0], side="right") - 1
    first, at, last = (np.searchsorted(works, times) for times in (steps[step, 0], long[:, 0], steps[step, 1]))
    return long[(first < at) & (at < last)]


def _whole(analysis: Analysis, idle: Int64s) -> Int64s:
    """The work that the device came to wait for, from its start: since the host's last operator, call or wait."""
    works = subtract(_dispatching(analysis), _fetches(analysis))
    last = np.searchsorted(works[:, 0], idle[:, 0], side="right") - 1
    ended = np.append(works[:, 1], np.iinfo(np.int64).max)[last]
    begun = np.where(ended <= idle[:, 0], ended, idle[:, 0])
    return intersect(union(begun, idle[:, 1]), analysis.window.tiles)


def _behind_launches(analysis: Analysis, idle: Int64s) -> float:
    """Ns of the interval set that device work launched since the last wait before is long enough to hide."""
    trace, events = analysis.trace, analysis.trace.events
    ended = np.append(np.iinfo(np.int64).min, np.sort(events.end[own_waits(trace, analysis.steps)]))
    work = device_rows(trace, analysis.device)
    work = work[trace.links.launch[work] != ABSENT]
    launched = events.start[trace.links.launch[work]]
    order = np.argsort(launched, kind="stable")
    behind = np.append(0, np.cumsum(events.duration[work][order]))
    wait = np.searchsorted(ended, idle[:, 0], side="right") - 1
    first, last = (np.searchsorted(launched[order], times) for times in (ended[wait], idle[:, 0]))
    queued = np.zeros(len(ended))
    np.maximum.at(queued, wait, behind[last] - behind[first])
    spent = np.bincount(wait, weights=lengths(idle), minlength=len(ended))
    return float(np.minimum(spent, queued).sum())


@once
def _fetches(analysis: Analysis) -> Int64s:
    """When a launching thread fetches a batch, the operators that it runs for it included."""
    events = analysis.trace.events
    spans = np.flatnonzero(_launching(analysis) & among(events.category, (Category.OPERATOR, Category.ANNOTATION)))
    spans = spans[named(analysis.trace, spans, INPUT)]
    return union(events.start[spans], events.end[spans])


@once
def _dispatching(analysis: Analysis) -> Int64s:
    """When a thread that launches runs an operator or a call, but those that compute on the host."""
    events = analysis.trace.events
    works = among(events.category, (Category.OPERATOR, Category.RUNTIME)) & _launching(analysis)
    rows = np.flatnonzero(works & events.complete())
    rows = rows[~named(analysis.trace, rows, STEP_NUMBER)]
    if len(still := computing(analysis)):
        rows = rows[nearest(analysis.trace.links.parent, rows, mask_of(still, len(events))) == ABSENT]
    return union(events.start[rows], events.end[rows])


@once
def _launching(analysis: Analysis) -> Bools:
    """Per event, whether it is of a thread that launches."""
    return launching_threads(analysis.trace, analysis.steps.threads).take(analysis.trace.events.lane)


def _idle(analysis: Analysis, *parts: Part) -> Int64s:
    """Interval set of the window's time in parts of the account, in ns."""
    return intersect(analysis.timeline.within(*parts), analysis.window.tiles)
