"""Help on the keys, from the registry of actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.tui.actions import EVERYWHERE, SCOPES, Action, Situation, in_scope, key_names, scopes_of
from tracelens.tui.inks import Ink, glyph
from tracelens.tui.rows import EMPTY, Look, Piece, Row, head, quiet, row

KEYS: Final = 16
LEGEND: Final = (
    (Ink.COMPUTE, "kernel"),
    (Ink.COMMUNICATION, "communication"),
    (Ink.COPY, "copy"),
    (Ink.OPERATOR, "operator"),
    (Ink.CALL, "call"),
    (Ink.WAIT, "wait"),
    (Ink.DISPATCH, "idle: dispatch"),
    (Ink.LAUNCH, "idle: launch"),
    (Ink.SYNC, "idle: sync"),
    (Ink.DEVICE, "idle: device"),
    (Ink.UNKNOWN, "idle: unknown"),
)


def help_rows(view: str, situation: Situation) -> list[Row]:
    """Keys of the view first, then of everywhere, then of the other views; what cannot be done now is quiet."""
    scopes = dict.fromkeys([*scopes_of(view), EVERYWHERE, *SCOPES])
    return [*(line for one in scopes for line in _section(one, situation)), *_legend()]


def _section(scope: str, situation: Situation) -> Iterator[Row]:
    yield head(scope.capitalize())
    for action in in_scope(scope):
        yield _line(action, valid=action.valid(situation))
    yield EMPTY


def _line(action: Action, *, valid: bool) -> Row:
    keys = f" {key_names(action)}".ljust(KEYS)
    return row(Piece(keys, Look.KEY if valid else Look.QUIET), Piece(action.title) if valid else quiet(action.title))


def _legend() -> Iterator[Row]:
    yield head("Colours and glyphs")
    for ink, name in LEGEND:
        yield row(" ", Piece(glyph(ink) * 3, ink), f"  {name}")
