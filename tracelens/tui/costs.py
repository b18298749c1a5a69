"""The largest costs of a step: parts in which the device idles, and kernels, each with a place to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis, Timeline
from tracelens.model.events import ABSENT, Int64s
from tracelens.model.names import names_of
from tracelens.reporting.kernel_titles import kernel_title
from tracelens.tui.inks import CLASS_INKS, Ink
from tracelens.tui.selection import Selection

SHOWN: Final = 3
WAITS: Final = {
    "framework": "idle while PyTorch dispatches operators",
    "python": "idle while Python runs between operators",
    "compiler": "idle in wrappers and guards of compiled code",
    "input": "idle for input data",
    "allocator": "idle while memory is allocated or freed",
    "api": "idle during launch calls",
    "latency": "idle between a launch and its start",
    "graph": "idle during graph launches",
    "loading": "idle while kernels are loaded",
    "wait": "idle while the host waits for it",
    "refill": "idle until the queue fills again after a wait (unchecked by measurement)",
    "spacing": "idle between kernels that were queued",
    "dependency": "idle for another stream or an event",
    "in_graph": "idle between nodes of a graph",
    "unlinked": "idle, launched by nobody known",
    "stalled": "idle though launched long before",
    "profiler": "idle for the profiler's own work",
    "outside": "idle after the last event",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Time spent on one thing over the window."""

    title: str
    ns: int
    share: float
    ink: Ink
    selection: Selection


def largest_costs(analysis: Analysis, most: int = SHOWN) -> list[Cost]:
    """The largest parts of idle time and the most expensive kernels, largest first."""
    found = [*_idle(analysis), *_kernels(analysis, most)]
    return sorted(found, key=lambda cost: -cost.ns)[:most]


def _idle(analysis: Analysis) -> Iterator[Cost]:
    window, inside = analysis.attribution.window_ns, _inside(analysis)
    for part in Part:
        ns = analysis.attribution.parts[part.class_name][part.part_name]
        if ns and part.class_name != "kernel":
            gap = _longest_gap(analysis.timeline, inside, part)
            yield Cost(WAITS[part.part_name], ns, ns / window, CLASS_INKS[part.class_name], Selection(gap=gap))


def _inside(analysis: Analysis) -> Int64s:
    """Pieces of the timeline that begin within the window."""
    start, tiles = analysis.timeline.start, analysis.window.tiles
    if not len(tiles):
        return np.empty(0, dtype=np.int64)
    tile = np.searchsorted(tiles[:, 0], start, side="right") - 1
    return np.flatnonzero((tile >= 0) & (start < tiles[np.maximum(tile, 0), 1]))


def _longest_gap(timeline: Timeline, pieces: Int64s, part: Part) -> int:
    """The gap that holds the longest of these pieces that is of a part."""
    pieces = pieces[timeline.part[pieces] == part]
    length = timeline.end[pieces] - timeline.start[pieces]
    return int(timeline.gap[pieces[length.argmax()]]) if len(pieces) else ABSENT


def _kernels(analysis: Analysis, most: int) -> Iterator[Cost]:
    events = analysis.trace.events
    owned = (analysis.steps.owner != ABSENT) & events.device_work() & (events.device == analysis.device)
    rows = np.flatnonzero(owned)
    names, first, inverse = np.unique(events.name[rows], return_index=True, return_inverse=True)
    total = np.bincount(inverse, weights=events.duration[rows], minlength=len(names)).astype(np.int64)
    window = max(analysis.attribution.window_ns, 1)
    for index in np.argsort(-total, kind="stable")[:most].tolist():
        row, ns = int(rows[first[index]]), int(total[index])
        title = kernel_title(names_of(analysis.trace, np.array([row]))[0])
        yield Cost(title, ns, ns / window, Ink.KERNEL, Selection(row=row))
