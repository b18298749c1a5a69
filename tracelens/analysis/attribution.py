"""Where a window's time went."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.parts import CLASSES, Part
from tracelens.analysis.results import Attribution, Timeline
from tracelens.model.events import Int64s
from tracelens.model.intervals import covered_before, length


def attribute(timeline: Timeline, tiles: Int64s) -> Attribution:
    """Clip a timeline to (n, 2) disjoint tiles in ns; the parts sum to the tiles exactly.

    Time before the timeline's start or after its end is unknown.outside.
    """
    window = length(tiles)
    ns = np.zeros(len(Part), dtype=np.int64)
    # Each piece ends where the next begins.
    times = np.append(timeline.start, timeline.end[-1:])
    np.add.at(ns, timeline.part, np.diff(covered_before(tiles[np.argsort(tiles[:, 0])], times)))
    ns[Part.UNKNOWN_OUTSIDE] += window - ns.sum()
    classes = {name: {part.part_name: int(ns[part]) for part in Part if part.class_name == name} for name in CLASSES}
    return Attribution(window, classes)
