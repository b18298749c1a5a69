"""Eager: as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capture.records import FormRecord


class Eager:
    """Calls the region as it is."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call."""
        return self._original(*args, **kwargs)

    def state(self) -> object:
        """Nothing is ever prepared."""
        return None

    def report(self, record: FormRecord) -> None:
        """Nothing to say."""
