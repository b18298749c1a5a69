"""What lies over the views is left once, however often it is asked to go."""

from __future__ import annotations

from typing import Any, cast

from textual.await_complete import AwaitComplete
from textual.screen import Screen

from tracelens.tui.resizing import SizedOnce


class LeftOnce(SizedOnce):
    """A dialog that takes nothing else with it.

    textual's takes the screen on top, whichever that is: two keys that both leave a dialog, or a key and a terminal
    that has become too small, would end what lies below it, and the app with it."""

    def dismiss(self, result: Any = None) -> AwaitComplete:  # noqa: ANN401 - whatever the dialog is asked for
        """Leave with a result, unless it has been left."""
        screen = cast("Screen[Any]", self)
        if not screen.is_active:
            return AwaitComplete()
        return Screen.dismiss(screen, result)  # pyright: ignore[reportUnknownMemberType]
