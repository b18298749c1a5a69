"""What several rules ask of the same analysis, answered once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from tracelens.analysis.results import Analysis

Answer = TypeVar("Answer")


def once(ask: Callable[[Analysis], Answer]) -> Callable[[Analysis], Answer]:
    """The function, with its answer kept for as long as the analysis lives."""
    known: WeakKeyDictionary[Analysis, Answer] = WeakKeyDictionary()

    @wraps(ask)
    def asked(analysis: Analysis) -> Answer:
        if analysis not in known:
            known[analysis] = ask(analysis)
        return known[analysis]

    return asked
