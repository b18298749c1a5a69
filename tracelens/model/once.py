"""What is asked of the same trace or analysis several times, answered once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


def once(ask: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """The function, with its answer kept for as long as what it is asked of lives."""
    known: WeakKeyDictionary[Asked, Answer] = WeakKeyDictionary()

    @wraps(ask)
    def asked(of: Asked) -> Answer:
        if of not in known:
            known[of] = ask(of)
        return known[of]

    return asked
