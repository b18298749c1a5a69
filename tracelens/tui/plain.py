"""Drawing with ASCII alone, for terminals and fonts without block characters."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tracelens.reporting.bars import LOOKS
from tracelens.tui.inks import EIGHTHS

LEVELS: Final = " ._,-~*%#"
"""In place of EIGHTHS."""
OTHERS: Final = {
    "▚": "x",
    "▏": "|",
    "│": "|",
    "╷": "'",
    "╵": "'",
    "─": "-",
    "▸": ">",
    "▶": ">",
    "▾": "v",
    "▴": "^",
    "…": "~",
    "‼": "!",
    "·": ".",
    "└": "+",
    "┘": "+",
    "╭": "+",
    "╮": "+",
    "╰": "+",
    "╯": "+",
}
PLAIN: Final = str.maketrans(
    {**dict(zip(EIGHTHS, LEVELS, strict=True)), **OTHERS, **{look.glyph: look.plain for look in LOOKS.values()}}
)


def plain(text: str) -> str:
    """The text in ASCII, cell for cell; what has no likeness becomes a question mark."""
    return text if text.isascii() else text.translate(PLAIN).encode("ascii", "replace").decode()


class PlainText(LineFilter):
    """Turns all that is drawn into ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments in ASCII."""
        return [Segment(plain(text), style, control) for text, style, control in segments]
