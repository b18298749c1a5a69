"""What is said before a trace is open: how far reading is, what went wrong, or which traces there are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracelens.model import units
from tracelens.tui.inks import Ink
from tracelens.tui.opening import Progress
from tracelens.tui.rows import EMPTY, Look, Piece, Row, cut, cut_left, head, quiet, row, strong, wrapped


def loading(path: str, progress: Progress, width: int) -> list[Row]:
    """A determinate bar in one line, and what Esc does."""
    space = max(min(width - 24, 60), 10)
    filled = round(space * progress.share)
    share = f" {progress.share:4.0%} " if progress.total else " "
    bar = (Piece("█" * filled, Ink.KERNEL), Piece("░" * (space - filled), Look.QUIET), Piece(share))
    said = f"{units.size(progress.done)}, {units.counted(progress.events, 'event')}"
    state = "Reading" if progress.reading else "Analysing"
    return [
        EMPTY,
        row(strong(f"{state} "), cut_left(path, max(width - 12, 10))),
        (*bar, quiet(said)),
        EMPTY,
        row(quiet("Esc stops reading and shows what was read so far.")),
    ]


def refused(message: str, width: int, *, others: bool = False) -> list[Row]:
    """Why there is nothing to see, and the keys that are left; of a directory there are other traces to choose."""
    lines = [(Piece(line[0].text, Look.STRONG),) for line in wrapped(message, width)]
    title = (Piece("This cannot be opened", Look.BAD),)
    back = (Piece("Esc", Look.KEY), Piece(" shows the others, ")) if others else ()
    return [EMPTY, title, EMPTY, *lines, EMPTY, (*back, *row(Piece("q", Look.KEY), " quits"))]


def picker(title: str, told: Mapping[Path, str], chosen: int, width: int, *, back: bool = False) -> list[Row]:
    """The traces of a directory with what is told of each, one of which is chosen; `back` where Esc leads back."""
    space = max(width - 14, 10)
    names = min(max((len(file.name) for file in told), default=0), space * 2 // 3)
    rows = [head(cut(title, width)), EMPTY]
    for number, file in enumerate(told):
        size = "run" if file.is_dir() else units.size(file.stat().st_size) if file.exists() else ""
        said = cut(f"{cut(file.name, names):{names}}  {told[file]}", space)
        text = f"{'▸' if number == chosen else ' '} {said:{space}}{size:>10}"
        rows.append((Piece(text, Look.CURSOR if number == chosen else Look.PLAIN),))
    left = (Piece("Esc", Look.KEY), Piece(" goes back, ")) if back else ()
    return [*rows, EMPTY, (*row(Piece("Enter", Look.KEY), " opens, "), *left, *row(Piece("q", Look.KEY), " quits"))]
