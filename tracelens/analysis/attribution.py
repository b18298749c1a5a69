"""Where a window's time went."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.parts import CLASSES, Part
from tracelens.analysis.results import Attribution, Timeline
from tracelens.model.events import Int64s
from tracelens.model.intervals import covered


def attribute(timeline: Timeline, tiles: Int64s) -> Attribution:
    """Clip a timeline to (n, 2) disjoint tiles in ns; the parts sum to the tiles exactly.

    Time before the timeline's start or after its end is unknown.outside.
    """
    low, high = tiles[:, 0], tiles[:, 1]
    window = int((high - low).sum())
    ns = {part: _in_tiles(timeline, part, low, high) for part in Part}
    ns[Part.UNKNOWN_OUTSIDE] += window - sum(ns.values())
    classes = {name: {part.part_name: ns[part] for part in Part if part.class_name == name} for name in CLASSES}
    return Attribution(window, classes)


def _in_tiles(timeline: Timeline, part: Part, low: Int64s, high: Int64s) -> int:
    at = np.flatnonzero(timeline.part == part)
    pieces = np.column_stack((timeline.start[at], timeline.end[at]))
    return int(covered(pieces, low, high).sum())
