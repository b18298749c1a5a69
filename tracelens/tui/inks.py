"""What a cell of a drawing stands for: a name, a colour (in the theme) and a glyph, so that colour is never alone."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from tracelens.analysis.parts import CLASSES
from tracelens.reporting.bars import LOOKS


class Ink(IntEnum):
    """A class of event or of idle time."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    OPERATOR = 3
    CALL = 4
    WAIT = 5
    PYTHON = 6
    ANNOTATION = 7
    KERNEL = 8
    DISPATCH = 9
    LAUNCH = 10
    SYNC = 11
    DEVICE = 12
    UNKNOWN = 13

    @property
    def variable(self) -> str:
        """Name of the theme's variable that holds its colour."""
        return f"ink-{self.name.lower()}"


LABEL: Final = 32
"""Added to an ink: the cell belongs to a slice that is wide enough for its name."""
MATCH: Final = 64
"""The cell holds a slice that the search found."""
SELECTED: Final = 128
"""The cell holds the selected slice."""

CLASS_INKS: Final = {name: Ink[name.upper()] for name in CLASSES}
"""Ink of each class of the attribution."""

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
"""Glyphs of a cell that is busy for 0 to 8 eighths of its time."""

GLYPHS: Final = {
    Ink.COMMUNICATION: "▚",
    Ink.COPY: "▒",
    Ink.WAIT: "░",
    **{ink: LOOKS[name].glyph for name, ink in CLASS_INKS.items()},
}
"""The others are drawn in eighths, as high as the cell is busy."""


def glyph(ink: Ink) -> str:
    """The glyph that stands for an ink in legends and bars."""
    return GLYPHS.get(ink, "█")


def ink_of(code: int) -> Ink:
    """The ink of a run, without its marks."""
    return Ink(code & (LABEL - 1))
