"""Progress across processes: a board in shared memory, and the line that shows it."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import time
from pathlib import Path

PHASES = ("starting", "searching", "warming up", "measuring", "tracing", "exporting", "done")
_CELLS, _STEP = struct.Struct("<3q"), struct.Struct("<q")


def say(text: str, start: str = "") -> None:
    """Write a line to stderr, which nothing in it can colour or break."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    _write(f"{start}{shown}\n")


def _write(text: str) -> None:
    """Write to stderr at once; where nothing can be written, as to a terminal that is gone, go on."""
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        # Python flushes once more at exit and would change the exit code then.
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stderr.fileno())


class Board:
    """Phase, step and number of steps in a small mapped file: writing it costs less than a microsecond."""

    def __init__(self, path: Path) -> None:
        """Map the file, creating it when missing."""
        if not path.exists():
            path.write_bytes(bytes(_CELLS.size))
        with path.open("r+b") as file:
            self._cells = mmap.mmap(file.fileno(), _CELLS.size)

    def show(self, phase: str, step: int = 0, of: int = 0) -> None:
        """Post where the form is."""
        _CELLS.pack_into(self._cells, 0, PHASES.index(phase), step, of)

    def step(self, step: int) -> None:
        """Post the step alone, for the hot path."""
        _STEP.pack_into(self._cells, _STEP.size, step)

    def read(self) -> tuple[str, int, int]:
        """Return phase, step and number of steps (0 where not counted)."""
        phase, step, of = map(int, _CELLS.unpack_from(self._cells, 0))
        return PHASES[phase], step, of

    @property
    def done(self) -> bool:
        """Whether the form has recorded all it should."""
        return self.read()[0] == "done"


class Line:
    """One line on a terminal's stderr, rewritten in place; silent elsewhere."""

    def __init__(self, form: str) -> None:
        self._form, self._started, self._live = form, time.monotonic(), sys.stderr.isatty()

    def update(self, board: Board) -> None:
        """Rewrite the line from the board."""
        if self._live:
            phase, step, of = board.read()
            count = f" {step}/{of}" if of else ""
            elapsed = time.monotonic() - self._started
            _write(f"\r\033[K{self._form}: {phase}{count}, {elapsed:.0f} s")

    def finish(self, summary: str) -> None:
        """Replace the line by the form's outcome."""
        say(f"{self._form}: {summary}", "\r\033[K" if self._live else "")
