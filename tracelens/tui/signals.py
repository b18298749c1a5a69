"""What the app does when it is stopped, continued or ended from outside."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

WINDOWS: Final = sys.platform == "win32"
"""Where consoles end programs in another way, and event loops take no signals."""


def end_cleanly(end: Callable[[], object]) -> None:
    """Call `end` in the running event loop when the process is told to end."""
    if WINDOWS:
        return
    loop = asyncio.get_running_loop()
    for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        loop.add_signal_handler(ending, end)


def resume_once() -> None:
    """Take the terminal again only after it was given back.

    textual takes it at every SIGCONT; after a plain SIGSTOP, which cannot be caught, a second thread would then read
    the keys, and the app could never end."""
    if WINDOWS:
        return
    suspend, resume = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if not callable(suspend) or not callable(resume):
        return
    suspended = False

    def on_stop(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        suspended = True
        suspend(number, frame)

    def on_continue(number: int, frame: FrameType | None) -> None:
        nonlocal suspended
        if suspended:
            suspended = False
            resume(number, frame)

    signal.signal(signal.SIGTSTP, on_stop)
    signal.signal(signal.SIGCONT, on_continue)
