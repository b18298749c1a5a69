"""Nothing that is shown can command the terminal: names come from the trace, and may hold its control sequences."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

PICTURES: Final = {**{code: chr(0x2400 + code) for code in range(0x20)}, 0x7F: "␡"}
"""ASCII's control characters as Unicode pictures them."""
OTHER: Final = "�"
"""In place of what else is not printable: C1 controls, bidirectional and invisible characters, lone surrogates."""


def visible(text: str) -> str:
    """The text with one visible character for each that is not printable, so that columns stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else PICTURES.get(ord(char), OTHER) for char in text)


class VisibleText(LineFilter):
    """Every line of every widget goes through it, on its way to the terminal and into pictures."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments, made visible; never longer, though what is not printable counts as no cell."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        shown = [Segment(visible(text), style, control) for text, style, control in segments]
        return Segment.adjust_line_length(shown, Segment.get_line_length(segments))
