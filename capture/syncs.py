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
        self._shown: Any = None

    def listen(self, wanted: bool) -> None:
        """Begin or end the listening."""
        if wanted and self._shown is None:
            self._shown = warnings.showwarning
            self._filters = warnings.filters[:]
            warnings.simplefilter("always")
            warnings.showwarning = self._note
            torch.cuda.set_sync_debug_mode("warn")
        elif not wanted and self._shown is not None:
            torch.cuda.set_sync_debug_mode("default")
            warnings.showwarning, self._shown = self._shown, None
            warnings.filters[:] = self._filters  # pyright: ignore[reportIndexIssue]

    def rows(self) -> list[Row]:
        """Return the sync points with their lines and how often each was met."""
        return [{"where": row["where"], "count": row["count"]} for row in counted(self._rows, "kind")]

    def _note(self, message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        if "synchronizing" in str(message):
            self._rows.append(("sync", calling_line(inspect.currentframe())))
        else:
            self._shown(message, category, filename, lineno, *rest)
