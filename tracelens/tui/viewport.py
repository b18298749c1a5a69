"""The stretch of time a timeline shows: integer nanoseconds against terminal columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracelens.model.events import Int64s

SHORTEST = 1_000
"""ns: the closest zoom. At least one per column, so that no cell is empty time."""
MOST_COLUMNS = SHORTEST


@dataclass(frozen=True, slots=True)
class Viewport:
    """[start, end) in ns, shown in `columns` cells, never leaving [low, high).

    Column c covers [edge(c), edge(c + 1)), edges being rounded down, so that columns tile the viewport exactly."""

    low: int
    high: int
    start: int
    end: int
    columns: int

    @classmethod
    def whole(cls, low: int, high: int, columns: int) -> Viewport:
        """Show all of [low, high); an empty or tiny stretch is widened to the closest zoom."""
        high = max(high, low + SHORTEST)
        return cls(low, high, low, high, min(max(columns, 1), MOST_COLUMNS))

    @property
    def span(self) -> int:
        """ns shown."""
        return self.end - self.start

    def edges(self) -> Int64s:
        """(columns + 1) ns at which cells begin, and the end."""
        return self.start + self.span * np.arange(self.columns + 1, dtype=np.int64) // self.columns

    def column(self, ns: int) -> int:
        """Column that holds this time; below 0 or >= columns outside the viewport."""
        return ((ns - self.start + 1) * self.columns - 1) // self.span

    def time(self, column: int) -> int:
        """ns at which a column begins."""
        return self.start + self.span * column // self.columns

    def resized(self, columns: int) -> Viewport:
        """The same time in another number of columns."""
        return replace(self, columns=min(max(columns, 1), MOST_COLUMNS))

    def show(self, start: int, end: int) -> Viewport:
        """Show [start, end) as nearly as the bounds and the closest zoom allow."""
        span = min(max(end - start, SHORTEST), self.high - self.low)
        start = min(max(start - (span - (end - start)) // 2, self.low), self.high - span)
        return replace(self, start=start, end=start + span)

    def zoom(self, numerator: int, denominator: int, at: int) -> Viewport:
        """Scale the span by a ratio; the time `at` stays at its place on the screen."""
        span = min(max(self.span * numerator // denominator, SHORTEST), self.high - self.low)
        at = min(max(at, self.start), self.end)
        start = at - (at - self.start) * span // self.span
        return self.show(start, start + span)

    def pan(self, ns: int) -> Viewport:
        """Move by ns; stops at the bounds with the span kept."""
        return self.show(self.start + ns, self.end + ns)

    def centre(self, at: int) -> Viewport:
        """Move so that a time lies in the middle, as far as the bounds allow."""
        return self.pan(at - (self.start + self.end) // 2)

    def focus(self, start: int, end: int, margin: float = 0.1) -> Viewport:
        """Fit an interval with a margin on both sides, as a share of it."""
        around = int((end - start) * margin)
        return self.show(start - around, end + around)

    def reveal(self, start: int, end: int) -> Viewport:
        """The same viewport if it shows the interval's beginning, else one that is centred on it.

        An interval longer than a screen counts as shown when any of it is."""
        if start < self.end and end >= self.start and (start >= self.start or end - start >= self.span):
            return self
        return self.centre(start + min(end - start, self.span) // 2)


@dataclass(frozen=True, slots=True)
class History:
    """Viewports to go back to. A run of small moves counts as one, a jump as one of its own."""

    past: tuple[Viewport, ...] = ()
    moving: bool = False

    def visit(self, left: Viewport, *, jump: bool, most: int = 100) -> History:
        """Remember the viewport that is being left."""
        if not jump and self.moving:
            return self
        return History((*self.past, left)[-most:], moving=not jump)

    def back(self) -> tuple[Viewport | None, History]:
        """The last remembered viewport, if any, and the history without it."""
        if not self.past:
            return None, self
        return self.past[-1], History(self.past[:-1])
