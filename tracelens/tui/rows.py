"""Styled text without a terminal: rows of pieces, each with a look that a theme turns into colours."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from tracelens.tui.inks import Ink


class Look(Enum):
    """What a piece of text is, apart from the inks of the drawings."""

    PLAIN = "plain"
    STRONG = "strong"
    QUIET = "quiet"
    HEAD = "head"
    KEY = "key"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    CURSOR = "cursor"


@dataclass(frozen=True, slots=True)
class Piece:
    """Text in one look."""

    text: str
    look: Look | Ink = Look.PLAIN
    link: object = None
    """Where it leads, if anywhere; what follows links knows their kinds."""


Row: TypeAlias = tuple[Piece, ...]
EMPTY: Row = ()


def row(*pieces: str | Piece) -> Row:
    """A row of pieces; bare strings are plain."""
    return tuple(Piece(piece) if isinstance(piece, str) else piece for piece in pieces)


def text(line: Row) -> str:
    """The text of a row."""
    return "".join(piece.text for piece in line)


def quiet(words: str) -> Piece:
    """Text that may be overlooked."""
    return Piece(words, Look.QUIET)


def strong(words: str) -> Piece:
    """Text that should not be overlooked."""
    return Piece(words, Look.STRONG)


def head(words: str) -> Row:
    """The head of a section."""
    return (Piece(words, Look.HEAD),)


def cut(words: str, width: int) -> str:
    """Text of at most `width` cells; what is left out shows as an ellipsis."""
    return words if len(words) <= width else f"{words[: max(width - 1, 0)]}…"[:width]


def cut_left(words: str, width: int) -> str:
    """The end of a text, for paths, whose ends tell most."""
    return words if len(words) <= width else f"…{words[len(words) - width + 1 :]}"[:width]


def crop(line: Row, width: int) -> Row:
    """The first `width` cells of a row."""
    return tuple(_cropped(line, width))


def _cropped(line: Row, width: int) -> Iterator[Piece]:
    left = width
    for piece in line:
        if left <= 0:
            return
        yield piece if len(piece.text) <= left else replace(piece, text=cut(piece.text, left))
        left -= len(piece.text)


def wrapped(words: str, width: int, look: Look = Look.PLAIN, indent: str = "") -> Iterator[Row]:
    """A paragraph in rows of at most `width` cells; lines of the text stay lines."""
    for line in words.splitlines() or [""]:
        for part in textwrap.wrap(line, max(width - len(indent), 10)) or [""]:
            yield (Piece(indent + part, look),)


def folded(rows: Iterable[Row], width: int) -> list[Row]:
    """Plain rows, the long ones in several of at most `width` cells."""
    return [part for line in rows for part in wrapped(text(line), width)]


def beside(left: Iterable[Row], right: Iterable[Row], width: int, gap: int = 2) -> list[Row]:
    """Two columns of rows, the left one `width` cells wide."""
    first, second = list(left), list(right)
    height = max(len(first), len(second))
    first += [EMPTY] * (height - len(first))
    second += [EMPTY] * (height - len(second))
    return [(*pad(a, width + gap), *b) for a, b in zip(first, second, strict=True)]


def pad(line: Row, width: int) -> Row:
    """A row of exactly `width` cells."""
    line = crop(line, width)
    return (*line, Piece(" " * (width - sum(len(piece.text) for piece in line))))


def changed(old: Row, new: Row, width: int) -> tuple[int, int] | None:
    """First and behind-last cell in which two rows differ on a screen; None when they look the same."""
    before, after = _cells(old, width), _cells(new, width)
    at = [cell for cell in range(width) if before[cell] != after[cell]]
    return (at[0], at[-1] + 1) if at else None


def _cells(line: Row, width: int) -> list[tuple[str, Look | Ink]]:
    return [(letter, piece.look) for piece in pad(line, width) for letter in piece.text]
