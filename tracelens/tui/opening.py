"""Opens a trace in a thread of its own, so that it is read while the app starts and the screen stays alive."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final, Literal

from tracelens.errors import TraceLensError
from tracelens.loading.runs import Run

GRACE_S: Final = 0.8
"""A trace that opens sooner shows its verdict without a view of the progress before it."""
PAUSE_S: Final = 0.0005
"""How long the thread lets others run at each report of its progress."""


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


class Opening(threading.Thread):
    """Loads, analyses and judges one trace; look at `done` from time to time."""

    def __init__(
        self,
        path: str,
        *,
        device: int | None = None,
        step: str | None = None,
        span: tuple[int, int] | Literal["all"] | None = None,
        run: Run | None = None,
    ) -> None:
        super().__init__(name=f"opening {path}", daemon=True)
        self.path = path
        self.device = device
        self.step = step
        self.span: tuple[int, int] | Literal["all"] | None = span
        self.run_directory = run
        self.progress = Progress()
        self.done = False
        self.error: str | None = None
        self.exit_code = 0
        self.cancelled = False
        self.session: object | None = None
        self._begun = time.monotonic()

    @property
    def patience(self) -> float:
        """Seconds that are left to it before its progress should be seen."""
        return max(self._begun + GRACE_S - time.monotonic(), 0.0)

    def cancel(self) -> None:
        """Stop reading soon, and go on with what has been read."""
        self.cancelled = True

    def run(self) -> None:
        """The thread: every end leaves either a session or a line that says what is wrong."""
        try:
            self.session = self._open()
        except TraceLensError as error:
            self.error, self.exit_code = str(error), int(error.exit_code)
        except Exception as error:
            # A defect of ours must not take the terminal with it.
            self.error, self.exit_code = f"internal error: {type(error).__name__}: {error}; please report it", 3
        self.done = True

    def _open(self) -> object:
        from tracelens.loading import load_trace
        from tracelens.loading.choose import load_run
        from tracelens.tui.session import judge

        run, path = self.run_directory, self.path
        if run is None:
            trace = load_trace(path, progress=self._report)
        else:
            trace, run = load_run(run, progress=self._report)
            path = trace.source.path
        self.progress = Progress(self.progress.total, self.progress.total, len(trace.events), reading=False)
        return judge(path, trace, device=self.device, step=self.step, span=self.span, run=run)

    def _report(self, done: int, total: int, events: int) -> None:
        if self.cancelled:
            from tracelens.loading.load import StopReading

            raise StopReading
        self.progress = Progress(done, total, events)
        time.sleep(PAUSE_S)
