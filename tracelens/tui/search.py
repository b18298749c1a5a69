"""A search for names: a regular expression, or with a leading "!" everything that does not match it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tracelens.errors import UsageError
from tracelens.model.events import Bools


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked for; case counts only where the text has capitals."""

    text: str
    pattern: re.Pattern[str]
    inverse: bool

    @classmethod
    def parse(cls, text: str) -> Query | None:
        """The query of a text, None for an empty one; UsageError when it is no regular expression."""
        inverse = text.startswith("!")
        wanted = text[1:] if inverse else text
        if not wanted:
            return None
        try:
            return cls(text, re.compile(wanted, 0 if wanted != wanted.lower() else re.IGNORECASE), inverse)
        except re.error as error:
            raise UsageError(f"{wanted!r} is no regular expression: {error}") from None

    def accepts(self, text: str) -> bool:
        """Whether one name is asked for."""
        return (self.pattern.search(text) is not None) != self.inverse

    def mask(self, texts: Iterable[str]) -> Bools:
        """Which of several names are asked for."""
        return np.array([self.accepts(text) for text in texts], dtype=np.bool_)
