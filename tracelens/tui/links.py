"""The command that opens the app where it is now, and the words of one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TABLES = ("kernels", "operators", "gaps", "syncs", "launches", "findings")
VIEWS = ("overview", "timeline", "kernels", "operators", "gaps", "syncs", "launches", "advice", "findings", "forms")


@dataclass(frozen=True, slots=True)
class Portion:
    """What of a trace is judged, as it was asked for; by default its steps on its busiest device."""

    device: int | None = None
    step: str | None = None
    """Name of an annotation whose occurrences are the steps."""
    range: tuple[int, int] | Literal["all"] | None = None
    """ns after the trace's base."""

    @property
    def stretch(self) -> tuple[int, int] | None:
        """The range, if it was chosen by its ends."""
        return self.range if isinstance(self.range, tuple) else None

    def words(self) -> Iterator[str]:
        """The options that ask for it."""
        if self.device is not None:
            yield from ("--device", str(self.device))
        if self.step is not None:
            yield from ("--step", self.step)
        if self.range is not None:
            yield from ("--range", "..".join(map(_time, self.range)) if self.range != "all" else "all")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a trace the app is."""

    view: str = "overview"
    select: str | None = None
    """Handle of what the cursor is on."""
    portion: Portion = Portion()

    def command(self, path: str) -> str:
        """A command line that leads here."""
        selected = ["--select", self.select] if self.select is not None else []
        return shlex.join(["tracelens", path, "--view", self.view, *self.portion.words(), *selected])


def _time(ns: int) -> str:
    """Exact, and short where it can be."""
    for unit, scale in (("ms", 10**6), ("us", 10**3)):
        if ns % scale == 0:
            return f"{ns // scale}{unit}"
    return f"{ns}ns"
