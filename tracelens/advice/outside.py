"""Host work that no form of the step takes away: data loading, and Python that runs no operator for long."""

from __future__ import annotations

from typing import Final

from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis
from tracelens.model.events import Int64s
from tracelens.model.intervals import intersect, length, union

LONG: Final = 500_000
"""ns without any operator from which the host does not dispatch but works. [H200: at most 463 us in 45 traces of
steps without such work, with_stack included; an operator takes 5 to 50 us]"""


def stretches(analysis: Analysis) -> Int64s:
    """Interval set of the idle time of the window in which the host ran no operator for LONG or more, in ns."""
    found = _idle(analysis, Part.DISPATCH_PYTHON)
    return found[found[:, 1] - found[:, 0] >= LONG]


def outside_ns(analysis: Analysis) -> float:
    """Time per counted step in which the device waits for such work, as traced."""
    whole = length(stretches(analysis)) + length(_idle(analysis, Part.DISPATCH_INPUT))
    return whole / max(len(analysis.window.tiles), 1)


def _idle(analysis: Analysis, part: Part) -> Int64s:
    timeline = analysis.timeline
    chosen = timeline.part == part
    return intersect(union(timeline.start[chosen], timeline.end[chosen]), analysis.window.tiles)
