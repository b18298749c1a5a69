"""Leaving the terminal as it was."""

from __future__ import annotations

from typing import Final

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
