"""Host work that no form of a step takes away: data loading, allocation, Python that runs no operator for long."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.analysis.host_activity import INPUT, launching_threads
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis
from tracelens.model.events import Bools, Category, Int64s, among
from tracelens.model.intervals import intersect, length, subtract, union
from tracelens.model.names import named
from tracelens.model.once import once

LONG: Final = 500_000
"""ns without any operator from which the host does not dispatch but works. [H200: at most 463 us in 45 traces of
steps without such work, with_stack included; an operator takes 5 to 50 us]"""
DISPATCH: Final = tuple(part for part in Part if part.name.startswith("DISPATCH_"))
_STEP: Final = re.compile(r"^ProfilerStep#")
"""Early profilers record steps as operators."""


@once
def stretches(analysis: Analysis) -> Int64s:
    """Interval set of the idle time of the window in which the host ran no operator for LONG or more, in ns.

    What follows a wait counts as well: the account calls it refill as far as the wait overlapped work, but a host that
    does not launch does not refill."""
    found = _long(_idle(analysis, Part.DISPATCH_PYTHON, Part.SYNC_REFILL))
    return _long(subtract(found, _dispatching(analysis))) if len(found) else found


def outside_ns(analysis: Analysis) -> float:
    """Time per counted step in which the device waits for such work, as traced."""
    parts = _idle(analysis, Part.DISPATCH_INPUT, Part.DISPATCH_ALLOCATOR)
    whole = np.concatenate((stretches(analysis), parts, _fetching(analysis)))
    return length(union(whole[:, 0], whole[:, 1])) / max(len(analysis.window.tiles), 1)


def _fetching(analysis: Analysis) -> Int64s:
    """Idle time while a launching thread fetches a batch, the operators that it runs for it included."""
    events = analysis.trace.events
    spans = np.flatnonzero(_launching(analysis) & among(events.category, (Category.OPERATOR, Category.ANNOTATION)))
    spans = spans[named(analysis.trace, spans, INPUT)]
    return intersect(union(events.start[spans], events.end[spans]), _idle(analysis, *DISPATCH))


def _long(intervals: Int64s) -> Int64s:
    return intervals[intervals[:, 1] - intervals[:, 0] >= LONG]


def _dispatching(analysis: Analysis) -> Int64s:
    """When a thread that launches runs an operator or a call."""
    events = analysis.trace.events
    works = among(events.category, (Category.OPERATOR, Category.RUNTIME)) & _launching(analysis)
    rows = np.flatnonzero(works & (events.phase == ord("X")))
    rows = rows[~named(analysis.trace, rows, _STEP)]
    return union(events.start[rows], events.end[rows])


def _launching(analysis: Analysis) -> Bools:
    """Per event, whether it is of a thread that launches."""
    return launching_threads(analysis.trace, analysis.steps.threads).take(analysis.trace.events.lane)


def _idle(analysis: Analysis, *parts: Part) -> Int64s:
    timeline = analysis.timeline
    chosen = np.flatnonzero(among(timeline.part, parts))
    return intersect(union(timeline.start[chosen], timeline.end[chosen]), analysis.window.tiles)
