"""The terminal page that text is laid out on: its width, its colours and its glyphs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tracelens.reporting.bars import Look
from tracelens.reporting.grid import Column, grid
from tracelens.reporting.ink import Ink
from tracelens.reporting.printable import cells, cut, printable

LEAST_WIDTH: Final = 40
"""Columns that a page has at least."""
CODE_INDENT: Final = "  "
_NO_BREAK: Final = "\N{NO-BREAK SPACE}"
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=(?:%|[mun]?s|[kMG]B)(?!\w))")


@dataclass(frozen=True, slots=True)
class Page:
    """Lays out lines that fit the width before they are painted."""

    width: int
    ink: Ink
    unicode: bool

    @property
    def more(self) -> str:
        """What stands for text that was cut."""
        return "…" if self.unicode else "..."

    def glyph(self, look: Look) -> str:
        """The glyph of a class of time."""
        return look.glyph if self.unicode else look.plain

    def heading(self, text: str, note: str = "") -> list[str]:
        """A section's title after an empty line, with a note to its right, or below if there is no room."""
        title, note = cut(printable(text), self.width, self.more), printable(note)
        if cells(title) + 2 + cells(note) > self.width:
            return ["", self.ink(title, "bold"), *self.text(note, "  ", None, "dim")]
        return ["", self.ink(title, "bold") + (self.ink("  " + note, "dim") if note else "")]

    def text(self, text: str, indent: str = "", first: str | None = None, *styles: str) -> Iterator[str]:
        """The text wrapped; `first` is the first line's indent."""
        width = max(LEAST_WIDTH, self.width)
        head = indent if first is None else first
        whole = _BEFORE_UNIT.sub(_NO_BREAK, printable(text))
        lines = textwrap.wrap(whole, width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False)
        return (self.ink(cut(line.replace(_NO_BREAK, " "), self.width, self.more), *styles) for line in lines)

    def code(self, text: str) -> Iterator[str]:
        """Lines of Python, indented, never cut: they are to be copied; a comment that does not fit goes above."""
        for line in map(printable, text.splitlines()):
            statement, mark, comment = line.partition("  # ")
            if mark and len(CODE_INDENT + line) > self.width:
                inner = statement[: len(statement) - len(statement.lstrip())]
                yield f"{CODE_INDENT}{inner}# {comment.strip()}"
                line = statement
            yield (CODE_INDENT + line).rstrip()

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Iterator[str]:
        """A grid, indented, with dim titles."""
        safe = [[printable(cell) for cell in row] for row in rows]
        titles, *lines = ["  " + line for line in grid(columns, safe, self.width - 2, self.more)]
        return iter([self.ink(titles, "dim"), *lines])
