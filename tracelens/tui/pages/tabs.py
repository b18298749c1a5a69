"""The first line: the views with their keys, and which of them is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tracelens.tui.actions import find
from tracelens.tui.rows import Look, Piece, Row, cut

WHOLE: Final = 20
"""No name is longer."""
SHORTEST: Final = 4


def tabs(views: Sequence[str], shown: str, width: int) -> Row:
    """Names as long as fit in `width` cells; where not even short ones do, keys and the name of the view shown."""
    *longer, shortest = _names(views, shown)
    names = next((names for names in longer if sum(map(len, names)) <= width), shortest)
    looks = [Look.CURSOR if view == shown else Look.PLAIN for view in views]
    return tuple(Piece(name, look) for name, look in zip(names, looks, strict=True))


def _names(views: Sequence[str], shown: str) -> Iterator[list[str]]:
    keys = {view: find(f"view_{view}").keys[0] for view in views}
    for length in range(WHOLE, SHORTEST - 1, -1):
        yield [f" {keys[view]} {cut(view.capitalize(), length)} " for view in views]
    yield [f" {keys[view]} {view.capitalize() if view == shown else ''}" for view in views]
