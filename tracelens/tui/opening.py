"""Opens a trace in a thread of its own, so that the screen stays alive meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tracelens.errors import TraceLensError
from tracelens.tui.links import Portion

if TYPE_CHECKING:
    from tracelens.loading.runs import Run
    from tracelens.tui.session import Session

GRACE_S: Final = 1.5
"""A trace that opens sooner shows its verdict without a view of the progress before it."""
GLIMPSE_S: Final = 0.3
"""After so long its progress tells whether it will."""
PAUSE_S: Final = 0.0005
"""How long reading lets other threads run at each report of its progress."""
WHOLE: Final = Portion()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading is."""

    done: int = 0
    total: int = 0
    """Bytes in all, 0 where they are unknown."""
    events: int = 0
    reading: bool = True
    """False once everything is read and being analysed."""

    @property
    def share(self) -> float:
        """0..1 of the bytes."""
        return min(self.done / self.total, 1.0) if self.total else 0.0


class Stopped(Exception):
    """Raised by a report: what has been read is enough."""


Report: TypeAlias = Callable[[Progress], None]
"""Told from time to time how far reading is."""
Open: TypeAlias = "Callable[[str, Run | None, Portion, Report], Session]"
"""Reads and judges a portion of a trace, or of a run's first trace that can be used; errors are those of `load_trace`
and `judge`."""


def open_here(path: str, run: Run | None, portion: Portion, report: Report) -> Session:
    """Open in this thread."""
    from tracelens.loading.choose import load_found, load_run
    from tracelens.loading.load import StopReading

    def tell(done: int, total: int, events: int) -> None:
        try:
            report(Progress(done, total, events))
        except Stopped:
            raise StopReading from None

    trace, run = load_found(path, progress=tell) if run is None else load_run(run, progress=tell)
    size = trace.source.size
    with suppress(Stopped):
        report(Progress(size, size, len(trace.events), reading=False))
    # What judges is not needed to read.
    from tracelens.tui.judging import judge

    return judge(path if run is None else trace.source.path, trace, portion, run)


class Opening(threading.Thread):
    """Loads, analyses and judges one trace."""

    def __init__(self, path: str, *, portion: Portion = WHOLE, run: Run | None = None, open: Open = open_here) -> None:
        super().__init__(name=f"opening {path}", daemon=True)
        self.path = path
        self.portion = portion
        self.run_directory = run
        self._open = open
        self.progress = Progress()
        self.ended = threading.Event()
        self.error: str | None = None
        self.exit_code = 0
        self.cancelled = False
        self.session: Session | None = None
        self._begun = time.monotonic()

    @property
    def ends_soon(self) -> bool:
        """Whether it should end, by how far it has come, before its progress is worth a view."""
        spent = time.monotonic() - self._begun
        return not self.ended.is_set() and spent < max(GRACE_S * self.progress.share, GLIMPSE_S)

    def cancel(self) -> None:
        """Stop reading soon, and go on with what has been read."""
        self.cancelled = True

    def run(self) -> None:
        """The thread: every end leaves either a session or a line that says what is wrong."""
        try:
            self.session = self._open(self.path, self.run_directory, self.portion, self._report)
        except TraceLensError as error:
            self.error, self.exit_code = str(error), int(error.exit_code)
        except MemoryError:
            self.error, self.exit_code = "out of memory; a trace of fewer steps needs less", 3
        except Exception as error:
            # A defect of ours must not take the terminal with it.
            self.error, self.exit_code = f"internal error: {type(error).__name__}: {error}; please report it", 3
        self.ended.set()

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        if self.cancelled:
            raise Stopped
        time.sleep(PAUSE_S)
