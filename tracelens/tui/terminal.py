"""The terminal: whatever it sends is read, and it is left as it was."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from textual.driver import Driver

ERASE: Final = "\x1b[0m\x1b[2J"


def erasing(kind: type[Driver]) -> type[Driver]:
    """A kind of driver that erases its screen before it gives back the shell's.

    Where the terminal has grown meanwhile, tmux would show what is left there above the shell's lines."""

    class Erasing(kind):
        def stop_application_mode(self) -> None:
            self.write(ERASE)
            super().stop_application_mode()

    return Erasing


def lenient(kind: type[Driver]) -> type[Driver]:
    """A kind of driver that reads on whatever bytes it gets.

    textual's would end at the first that is not UTF-8, as Latin-1 terminals and old reports of the mouse send, and at
    a number too large for what it stands for."""
    module = vars(sys.modules[kind.__module__])
    if "getincrementaldecoder" not in module:
        return kind
    module["getincrementaldecoder"] = _replacing
    parent: Any = kind

    class Lenient(parent):
        def run_input_thread(self) -> None:
            while not self.exit_event.is_set():
                try:
                    parent.run_input_thread(self)
                except OSError:
                    # The terminal is gone.
                    raise
                except Exception:
                    # Whatever textual's parser stumbles over, the next keys count.
                    continue

    return Lenient


def _replacing(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """A decoder that reads as U+FFFD what it cannot decode."""
    return partial(codecs.getincrementaldecoder(encoding), errors="replace")
