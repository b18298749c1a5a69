"""What rules look up in a trace: rows of the counted steps, how often they come, and the handles that show them."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.advice.rules.rule import EVIDENCE
from tracelens.analysis.handles import handles_of
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis
from tracelens.analysis.table import Table
from tracelens.model.distinct import distinct
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Role, among
from tracelens.model.intervals import intersect, length, longest_first, union
from tracelens.model.names import alike, bearing
from tracelens.model.nesting import nearest
from tracelens.model.once import once

SPANS: Final = (Category.OPERATOR, Category.ANNOTATION, Category.PYTHON)
"""Host events that names tell apart: operators, annotations and Python frames."""
PREPARING: Final = ("dispatch.framework", "dispatch.python", "launch.api", "launch.latency")
"""Parts of the account in which the host prepares a launch: what fewer launches, or no profiler, make shorter."""


def in_steps(analysis: Analysis, mask: Bools) -> Int64s:
    """Rows of the mask (n) that the counted steps own: device work that they launched, host events begun in them."""
    return np.flatnonzero(mask & (analysis.steps.owner != ABSENT) & analysis.trace.events.complete())


def spans(analysis: Analysis, pattern: re.Pattern[str], categories: tuple[Category, ...] = SPANS) -> Int64s:
    """Rows of the counted steps' operators, annotations and frames with such a name."""
    trace, (rows, names) = analysis.trace, _spans(analysis)
    wanted = [name for name in names if pattern.search(trace.names[name])]
    if not wanted:
        return rows[:0]
    bears = np.isin(alike(trace).take(trace.events.name[rows]), wanted)
    return rows[bears & among(trace.events.category[rows], categories)]


@once
def _spans(analysis: Analysis) -> tuple[Int64s, list[int]]:
    """Rows of all of them, and their names, one of those alike."""
    trace = analysis.trace
    rows = in_steps(analysis, among(trace.events.category, SPANS))
    return rows, distinct(alike(trace).take(trace.events.name[rows]), len(trace.names)).tolist()


def calls(analysis: Analysis, *roles: Role) -> Int64s:
    """Rows of the counted steps' runtime calls that do one of these things."""
    events = analysis.trace.events
    return in_steps(analysis, (events.category == Category.RUNTIME) & among(events.role, roles))


def graph_launches(analysis: Analysis) -> Table:
    """Rows of the table of launches, those of graphs."""
    launches = analysis.tables["launches"]
    return launches.take(np.isin(launches["row"], calls(analysis, Role.GRAPH_LAUNCH)))


def work(analysis: Analysis, *categories: Category) -> Int64s:
    """Rows of the device work of these categories that the counted steps launched."""
    events = analysis.trace.events
    return in_steps(analysis, among(events.category, categories) & (events.device == analysis.device))


def counts(analysis: Analysis, rows: Int64s) -> Int64s:
    """(steps) How many of the rows each counted step owns."""
    return np.bincount(analysis.steps.owner[rows], minlength=len(analysis.window.tiles)).astype(np.int64)


def under(analysis: Analysis, rows: npt.NDArray[np.integer], pattern: re.Pattern[str]) -> Bools:
    """Whether each row, or the call that launched it, lies in an operator or annotation of such a name."""
    trace = analysis.trace
    host = np.where(trace.events.device_work()[rows], trace.links.launch[rows], rows)
    around = bearing(trace, pattern, Category.OPERATOR, Category.ANNOTATION)
    return nearest(trace.links.parent, host, around) != ABSENT


def spent(analysis: Analysis, rows: Int64s) -> Int64s:
    """Interval set of the rows' time, in ns."""
    events = analysis.trace.events
    return union(events.start[rows], events.end[rows])


def idle(analysis: Analysis, *parts: str) -> Int64s:
    """Interval set of the window's time in parts of the account, each named as "dispatch.python"."""
    wanted = [part for part in Part if part.full_name in parts]
    return intersect(analysis.timeline.within(*wanted), analysis.window.tiles)


def idle_ns(analysis: Analysis, rows: Int64s, *parts: str) -> int:
    """How long the device idles in these parts while one of the rows runs on the host, in ns."""
    return length(intersect(idle(analysis, *parts), spent(analysis, rows)))


def gaps_at(analysis: Analysis, times: Int64s) -> tuple[str, ...]:
    """Handles of the gaps of the window that hold the times (ns), the first EVIDENCE of them."""
    gaps = analysis.tables["gaps"]
    at = np.searchsorted(gaps["start_ns"], times, side="right") - 1
    return tuple(gaps.take(np.unique(at[at >= 0])[:EVIDENCE])["handle"])


def gaps_of(analysis: Analysis, *parts: str) -> tuple[str, ...]:
    """Handles of the gaps with the longest stretches of these parts, each named as "dispatch.python", whatever most of
    such a gap is."""
    return gaps_at(analysis, longest_first(idle(analysis, *parts))[:EVIDENCE, 0])


def handles(analysis: Analysis, prefix: str, rows: Int64s) -> tuple[str, ...]:
    """Handles of the first EVIDENCE of the rows, by their prefix ("k" device work, "l" launches, "o" operators)."""
    if not len(rows):
        return ()
    return tuple(str(handle) for handle in handles_of(analysis.trace, prefix, rows[:EVIDENCE]) if handle is not None)


def longest(analysis: Analysis, rows: Int64s) -> Int64s:
    """The rows by duration, the longest first."""
    return rows[np.argsort(-analysis.trace.events.duration[rows], kind="stable")]


def frame_at(analysis: Analysis, time: int) -> str | None:
    """Name of the innermost Python frame that runs at a time in ns; None where none is recorded."""
    events = analysis.trace.events
    frames = np.flatnonzero(
        (events.category == Category.PYTHON) & (events.start <= time) & (events.end > time) & events.complete()
    )
    if not len(frames):
        return None
    innermost = frames[np.argmin(events.duration[frames])]
    return analysis.trace.names[int(events.name[innermost])]
