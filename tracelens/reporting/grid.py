"""Tables of text in a given width: numbers to the right, long names cut to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tracelens.reporting.printable import cells, cut, pad

GUTTER: Final = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and alignment ("<" or ">"), and what becomes of it on a narrow page."""

    title: str
    align: str = "<"
    least: int = 0
    """Long cells are cut down to this width; 0 is never cut."""
    spare: int = 0
    """Left out where not all fit, the highest first; 0 stays."""


def grid(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, more: str = "…") -> list[str]:
    """Lines of at most `width` columns: the titles, then the rows; columns that no row fills are left out."""
    widths = {i: min(width, max(cells(line[i]) for line in _titled(columns, rows))) for i in range(len(columns))}
    kept = [i for i in widths if any(row[i] for row in rows)]
    while (spare := _too_many(columns, widths, kept, width)) is not None:
        kept.remove(spare)
    _shrink(columns, widths, kept, width)
    return [_line([(line[i], widths[i], columns[i]) for i in kept], width, more) for line in _titled(columns, rows)]


def _titled(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [[column.title for column in columns], *rows]


def _too_many(columns: Sequence[Column], widths: dict[int, int], kept: list[int], width: int) -> int | None:
    """The column that can be spared most if the others cannot make room for it, else None."""
    least = sum(min(widths[i], columns[i].least or widths[i]) for i in kept)
    spare = sorted((columns[i].spare, i) for i in kept if columns[i].spare)
    return spare[-1][1] if spare and least + len(GUTTER) * (len(kept) - 1) > width else None


def _shrink(columns: Sequence[Column], widths: dict[int, int], kept: list[int], width: int) -> None:
    """Take what is too wide from the widest columns that may be cut."""
    over = sum(widths[i] + len(GUTTER) for i in kept) - len(GUTTER) - width
    for _ in range(over):
        roomy = [i for i in kept if columns[i].least and widths[i] > columns[i].least]
        if roomy:
            widths[max(roomy, key=widths.__getitem__)] -= 1


def _line(line: Sequence[tuple[str, int, Column]], width: int, more: str) -> str:
    fitted = (pad(cut(cell, room, more), room, column.align) for cell, room, column in line)
    return cut(GUTTER.join(fitted).rstrip(), width, more)
