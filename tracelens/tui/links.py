"""The command that opens the app where it is now, and the words of one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

VIEWS = ("overview", "timeline", "kernels", "operators", "gaps", "syncs", "launches", "advice", "findings", "forms")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a trace the app is; ranges are ns after the trace's base."""

    view: str = "overview"
    range: tuple[int, int] | None = None
    select: str | None = None

    def command(self, path: str) -> str:
        """A command line that leads here."""
        words = ["tracelens", path, "--view", self.view]
        if self.range is not None:
            words += ["--range", f"{_time(self.range[0])}..{_time(self.range[1])}"]
        if self.select is not None:
            words += ["--select", self.select]
        return shlex.join(words)


def _time(ns: int) -> str:
    """Exact, and short where it can be."""
    for unit, scale in (("ms", 10**6), ("us", 10**3)):
        if ns % scale == 0:
            return f"{ns // scale}{unit}"
    return f"{ns}ns"
