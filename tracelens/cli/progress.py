"""Progress of reading a trace, on a terminal's standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self, TextIO

from tracelens.model import units

PATIENCE_S: Final = 1.0
"""Reading that takes less shows nothing."""
INTERVAL_S: Final = 0.25
_ERASE: Final = "\r\x1b[K"


class Progress:
    """Called by the loader with (bytes done, bytes in all or 0, events); draws one line and erases it at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._wanted = self._stream.isatty()
        self._next = time.monotonic() + PATIENCE_S
        self._drawn = False

    def __call__(self, done: int, total: int, events: int) -> None:
        """Draw, at most every INTERVAL_S."""
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next, self._drawn = now + INTERVAL_S, True
        part = f"{min(100, 100 * done // total)} % of {units.size(total)}" if total else units.size(done)
        self._stream.write(f"{_ERASE}reading: {part}, {units.counted(events, 'event')}")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._stream.write(_ERASE)
            self._stream.flush()
