"""Plain ANSI colours of the 16 that every terminal has, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_CODES: Final = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
    "grey": 90,
}


@dataclass(frozen=True, slots=True)
class Ink:
    """Paints text that has already been cut to its width."""

    color: bool

    def __call__(self, text: str, *styles: str) -> str:
        """The text in the given styles ("bold", "red", ...)."""
        if not (self.color and text and styles):
            return text
        codes = ";".join(str(_CODES[style]) for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"
