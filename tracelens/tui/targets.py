"""What the links of a text lead to: a row of evidence, or the events that a number is the sum of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tracelens.tui.links import Place
from tracelens.tui.rows import Look, Piece, Row, text, wrapped

HANDLE: Final = re.compile(r"\b[gsklo]-\d+\b")


@dataclass(frozen=True, slots=True)
class Filtered:
    """A table with a filter: the rows that a number is the sum of."""

    view: str
    filter: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the timeline, in ns after the trace's base."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Checks:
    """All checks of the trace's trust."""


@dataclass(frozen=True, slots=True)
class FormOf:
    """A form of a run."""

    name: str


@dataclass(frozen=True, slots=True)
class KernelOf:
    """A kernel that two forms of a run do not have alike."""

    name: str


def linked(words: str, look: Look = Look.PLAIN) -> Row:
    """The words as a row in which each handle leads to its event."""
    return tuple(_linked(words, look))


def linked_lines(words: str, width: int, look: Look = Look.PLAIN) -> list[Row]:
    """A paragraph in rows of at most `width` cells, in which each handle leads to its event."""
    return [linked(text(line), look) for line in wrapped(words, width)]


def _linked(words: str, look: Look) -> Iterator[Piece]:
    behind = 0
    for found in HANDLE.finditer(words):
        yield Piece(words[behind : found.start()], look)
        yield Piece(found[0], look, Place("timeline", found[0]))
        behind = found.end()
    yield Piece(words[behind:], look)
