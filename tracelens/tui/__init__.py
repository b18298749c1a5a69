"""The terminal app: shows the report document, and lets one check it down to the event."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tracelens.exitcodes import ExitCode

if TYPE_CHECKING:
    from tracelens.loading.runs import Run
    from tracelens.tui.links import Place, Portion
    from tracelens.tui.opening import Opening

SLOW_LINE: Final = {"TEXTUAL_FPS": "15", "TEXTUAL_SMOOTH_SCROLL": "0", "TEXTUAL_ANIMATIONS": "none"}
"""What spares bytes over SSH; read by textual when it is imported."""
COLORS: Final = {"auto": "auto", "truecolor": "truecolor", "256": "256", "16": "standard", "none": "none"}
"""What --color takes, as textual calls it."""


def run(
    path: str, place: Place, *, mouse: bool = True, fps: int | None = None, color: str = "auto", ascii: bool = False
) -> int:
    """Open a trace, a run directory or a directory of traces in the terminal, at a place of it; returns the exit code.

    color is one of COLORS. Another process opens the trace while this one imports the app."""
    _spare_bytes(fps)
    _follow_the_window()
    _choose_colors(color)
    gc.disable()
    run = _run_in(path)
    first = run.first_trace() if run is not None else None
    files = [] if first is not None else _traces_in(path)
    picks = len(files) > 1 or any(file.is_dir() for file in files)
    opening = None if picks else _opening(str(first or path), place.portion, run)
    from tracelens.tui.app import TraceLens

    # What was imported stays: no collection need look at it again.
    gc.freeze()
    gc.enable()
    app = TraceLens(opening, place=place, files=files, folder=path, run=run)
    app.ascii = ascii or not (sys.stdout.encoding or "").lower().startswith("utf")
    code = app.run(mouse=mouse)
    if app.defect is not None:
        raise app.defect
    # Whoever leaves says with which code; all other ends are defects.
    return int(ExitCode.UNREADABLE) if code is None else code


def _run_in(path: str) -> Run | None:
    """The run in a directory; None when the path is a file."""
    if not Path(path).is_dir():
        return None
    from tracelens.loading.runs import read_run

    return read_run(Path(path))


def _opening(path: str, portion: Portion, run: Run | None) -> Opening:
    """A trace that is being opened, by another process where there can be one."""
    from tracelens.tui.apart import begin_apart
    from tracelens.tui.opening import Opening

    opening = Opening(path, portion=portion, run=run, open=begin_apart(path, run, portion))
    opening.start()
    return opening


def _spare_bytes(fps: int | None) -> None:
    """Draw less often over SSH; what the user has set stays."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        for name, value in SLOW_LINE.items():
            os.environ.setdefault(name, value)
    if fps is not None:
        os.environ["TEXTUAL_FPS"] = str(fps)


def _choose_colors(color: str) -> None:
    """How many colours to use; textual reads it from the environment."""
    if color == "none":
        os.environ["NO_COLOR"] = "1"
    elif color != "auto":
        os.environ.pop("NO_COLOR", None)
        os.environ["TEXTUAL_COLOR_SYSTEM"] = COLORS[color]


def _follow_the_window() -> None:
    """Forget an exported size: textual would take it for the window's and never see it change."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


def _traces_in(path: str) -> list[Path]:
    """Traces and runs of a directory; none when the path is a file."""
    folder = Path(path)
    if not folder.is_dir():
        return []
    from tracelens.loading.choose import traces_in
    from tracelens.loading.runs import MANIFESTS

    runs = {manifest.parent for pattern in MANIFESTS for manifest in folder.glob(f"*/{pattern}")}
    return sorted([*traces_in(folder), *runs])
