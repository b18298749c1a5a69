"""The views before a trace is open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tracelens.tui.opening import Opening
from tracelens.tui.pages.opening import loading, picker, refused
from tracelens.tui.views.messages import OpenPath
from tracelens.tui.widgets.lines import Lines


class LoadingView(Lines, can_focus=True):
    """How far reading is; looks at the opening's progress when told to."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "Stop reading", show=False)]

    def __init__(self, opening: Opening) -> None:
        super().__init__(id="loading")
        self.opening = opening

    def on_resize(self) -> None:
        """The bar follows the width."""
        self.sync()

    def sync(self) -> None:
        """Draw the progress."""
        if self.size.width:
            self.show(loading(self.opening.path, self.opening.progress, self.size.width))

    def action_stop(self) -> None:
        """Stop reading."""
        self.opening.cancel()


class RefusedView(Lines, can_focus=True):
    """Why a trace cannot be opened."""

    def __init__(self, message: str) -> None:
        super().__init__(id="refused")
        self._message = message

    def on_resize(self) -> None:
        """Lines follow the width."""
        self.show(refused(self._message, max(self.size.width, 20)))


class PickerView(Lines, can_focus=True):
    """Which trace of a directory to open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Trace above", show=False),
        Binding("down,j", "move(1)", "Trace below", show=False),
        Binding("enter", "pick", "Open it", show=False),
    ]

    def __init__(self, folder: str, files: Sequence[Path]) -> None:
        super().__init__(id="picker")
        self._folder, self._files = folder, list(files)
        self._chosen = 0

    def on_resize(self) -> None:
        """Lines follow the width."""
        self._draw()

    def _draw(self) -> None:
        self.show(picker(self._folder, self._files, self._chosen, max(self.size.width, 40)))
        at, top, height = self._chosen + 2, self.scroll_offset.y, max(self.size.height, 1)
        if not top <= at < top + height:
            self.scroll_to(y=max(at - height // 2, 0), animate=False, immediate=True)

    def action_move(self, by: int) -> None:
        """To another trace."""
        self._chosen = min(max(self._chosen + by, 0), len(self._files) - 1)
        self._draw()

    def action_pick(self) -> None:
        """Open the chosen trace."""
        self.post_message(OpenPath(str(self._files[self._chosen])))
