"""Where the script waits for the device, by PyTorch's own sync debug mode."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import torch

from capture.failure import calling_line
from capture.records import Row, counted


class SyncLog:
    """While listening, every synchronising call of PyTorch's is noted with the user's line, instead of a warning."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str | None]] = []
        self._listening = False
        self._shown, self._filters = warnings.showwarning, warnings.filters[:]

    def listen(self, wanted: bool) -> None:
        """Begin or end the listening."""
        if wanted and not self._listening:
            self._shown, self._filters = warnings.showwarning, warnings.filters[:]
            warnings.simplefilter("always")
            warnings.showwarning = self._note
            torch.cuda.set_sync_debug_mode("warn")
        elif not wanted and self._listening:
            torch.cuda.set_sync_debug_mode("default")
            warnings.showwarning = self._shown
            warnings.filters[:] = self._filters  # pyright: ignore[reportIndexIssue]
        self._listening = wanted

    def rows(self) -> list[Row]:
        """Return the sync points with their lines and how often each was met."""
        return [{"where": row["where"], "count": row["count"]} for row in counted(self._rows, "kind")]

    def _note(self, message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        """Stand in for `warnings.showwarning`; a script may have saved it, and put it back when we listen no more."""
        if "called a synchronizing" in str(message):
            self._rows.append(("sync", calling_line(inspect.currentframe())))
        elif not str(message).startswith("Synchronization debug mode is a prototype"):
            self._shown(message, category, filename, lineno, *rest)
