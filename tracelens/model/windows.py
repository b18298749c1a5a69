"""The stretch of a trace that is judged: a set of tiles of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.model.events import Bools, Int64s
from tracelens.model.intervals import length


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Tiles of time on one device, disjoint and ascending."""

    kind: str
    """"profiler_step", "annotation", "period", "single_step", "whole" or "range"."""
    name: str
    """The annotation or a description of the period; "" where there is none."""
    tiles: Int64s
    """(n, 2) starts and ends in ns after Trace.base_ns. Each is one step, if the kind has steps."""

    @property
    def length(self) -> int:
        """Sum of the tiles in ns."""
        return length(self.tiles)

    def meets(self, start: Int64s, end: Int64s) -> Bools:
        """(m) Mask of the intervals [start, end) in ns that share time with the tiles; one of no length must lie in
        one."""
        if not len(self.tiles):
            return np.zeros(len(start), dtype=np.bool_)
        tile = np.searchsorted(self.tiles[:, 1], start, side="right")
        inside = np.minimum(tile, len(self.tiles) - 1)
        return (tile < len(self.tiles)) & (self.tiles[inside, 0] < np.maximum(end, start + 1))
