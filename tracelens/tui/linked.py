"""A table whose rows lead somewhere: to an event or a gap, and to the rows that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracelens.model import units
from tracelens.model.events import ABSENT
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.table import Table


@dataclass(frozen=True, eq=False)
class Linked:
    """A table and, for each of its rows, the row of the trace and the gap of the device that it leads to."""

    table: Table
    row: npt.NDArray[np.integer]
    gap: npt.NDArray[np.integer]
    title: str
    names: tuple[str, ...] = ()
    """Of aggregates: the whole name that each row stands for."""
    expand: Callable[[int], Linked] | None = None
    """Gives the table of what a row stands for, where it stands for several."""

    def selection(self, row: int) -> Selection:
        """Where a row of the table leads."""
        gap = int(self.gap[row])
        return Selection(gap=gap) if gap != ABSENT else Selection(row=int(self.row[row]))

    def place(self, selection: Selection, name: str) -> int:
        """The place in the order of what leads to an event or gap, or of its name; ABSENT where there is none."""
        if self.names:
            leads = np.array([one == name for one in self.names], dtype=np.bool_)
        else:
            leads = self.gap == selection.gap if selection.gap != ABSENT else self.row == selection.row
        found = np.flatnonzero(leads[self.table.order])
        return int(found[0]) if selection and len(found) else ABSENT


def duration(value: float) -> str:
    """A cell that holds ns."""
    return units.duration(int(value))


def of_range(session: Session) -> str:
    """What a title says of the window."""
    if session.portion.stretch is None:
        return ""
    start, end = session.portion.stretch
    return f"of the range {units.duration(start)} to {units.duration(end)}; V: the whole window"
