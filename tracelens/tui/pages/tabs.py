"""The first line: the views with their keys, and which of them is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracelens.tui.actions import find
from tracelens.tui.rows import Look, Piece, Row


def tabs(views: Sequence[str], shown: str, width: int) -> Row:
    """Names where they fit in `width` cells, else short names, else keys and the name of the view that is shown."""
    *longer, shortest = _names(views, shown)
    names = next((names for names in longer if sum(map(len, names)) <= width), shortest)
    looks = [Look.CURSOR if view == shown else Look.PLAIN for view in views]
    return tuple(Piece(name, look) for name, look in zip(names, looks, strict=True))


def _names(views: Sequence[str], shown: str) -> Iterator[list[str]]:
    keys = {view: find(f"view_{view}").keys[0] for view in views}
    for length in (20, 4):
        yield [f" {keys[view]} {view[:length].capitalize()} " for view in views]
    yield [f" {keys[view]} {view.capitalize() if view == shown else ''}" for view in views]
