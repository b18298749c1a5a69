"""The first line: the views with their keys, and which of them is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tracelens.tui.actions import find
from tracelens.tui.rows import Look, Piece, Row

SHORT: Final = {
    "overview": "Over",
    "timeline": "Time",
    "kernels": "Kern",
    "operators": "Ops",
    "syncs": "Sync",
    "launches": "Launch",
    "findings": "Finds",
    "forms": "Form",
}
"""Names for narrow terminals: with any one of them whole, all fit in 80 cells."""


def tabs(views: Sequence[str], shown: str, width: int) -> Row:
    """Names as long as fit in `width` cells, that of the view shown whole; where not even short ones do, keys."""
    *longer, shortest = _names(views, shown)
    names = next((names for names in longer if sum(map(len, names)) <= width), shortest)
    looks = [Look.CURSOR if view == shown else Look.PLAIN for view in views]
    return tuple(Piece(name, look) for name, look in zip(names, looks, strict=True))


def _names(views: Sequence[str], shown: str) -> Iterator[list[str]]:
    keyed = {view: f" {find(f'view_{view}').keys[0]} " for view in views}
    yield [f"{key}{view.capitalize()} " for view, key in keyed.items()]
    yield [f"{key}{view.capitalize()}" for view, key in keyed.items()]
    yield [f"{key}{(view if view == shown else SHORT.get(view, view)).capitalize()}" for view, key in keyed.items()]
    yield [f"{key}{view.capitalize() if view == shown else ''}" for view, key in keyed.items()]
