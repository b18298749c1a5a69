"""A stacked bar in terminal cells, told apart by glyph as well as by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Look:
    """How a class of time is drawn."""

    glyph: str
    plain: str
    """The glyph where only ASCII can be printed."""
    color: str
    """A name of tracelens.reporting.ink."""


LOOKS: Final = {
    "kernel": Look("█", "#", "green"),
    "dispatch": Look("▓", "=", "yellow"),
    "launch": Look("▒", "+", "cyan"),
    "sync": Look("░", ":", "magenta"),
    "device": Look("┄", "-", "blue"),
    "unknown": Look("?", "?", "grey"),
}


def spread(parts: Sequence[int], width: int) -> list[int]:
    """Cells of each part: they sum to width, each within one cell of its share (largest remainders round up).

    All zero when the parts are."""
    total = sum(parts)
    if total <= 0:
        return [0] * len(parts)
    whole = [part * width // total for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda i: parts[i] * width % total, reverse=True)
    for index in by_remainder[: width - sum(whole)]:
        whole[index] += 1
    return whole
