"""What a cursor is on, in any view."""

from __future__ import annotations

from dataclasses import dataclass

from tracelens.model.events import ABSENT


@dataclass(frozen=True, slots=True)
class Selection:
    """What the cursor is on: an event's row, or the number of a gap among those of the device."""

    row: int = ABSENT
    gap: int = ABSENT

    def __bool__(self) -> bool:
        return self.row != ABSENT or self.gap != ABSENT
