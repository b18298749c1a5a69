"""Did you mean ..."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that ends a message about an unknown word; "" when nothing is close."""
    import difflib  # most words need no suggestion

    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
