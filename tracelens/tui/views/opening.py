"""The views before a trace is open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tracelens.loading.glance import told
from tracelens.tui.opening import Opening
from tracelens.tui.pages.opening import loading, picker, refused
from tracelens.tui.views.messages import Back, OpenPath
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

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, message: str, *, others: bool) -> None:
        super().__init__(id="refused")
        self._message, self._others = message, others

    def on_resize(self) -> None:
        """Lines follow the width."""
        self.show(refused(self._message, max(self.size.width, 20), others=self._others))

    def action_leave(self) -> None:
        """To the other traces of the directory."""
        self.post_message(Back())


class PickerView(Lines, can_focus=True):
    """Which trace of a directory to open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Trace above", show=False),
        Binding("down,j", "move(1)", "Trace below", show=False),
        Binding("enter", "pick", "Open it", show=False),
        Binding("escape", "leave", "Back", show=False),
    ]

    def __init__(self, folder: str, files: Sequence[Path], *, back: bool) -> None:
        super().__init__(id="picker")
        self._folder, self._files, self._back = folder, list(files), back
        self._told = [told(file) for file in files]
        self._chosen = 0

    def on_resize(self) -> None:
        """Lines follow the width."""
        self._draw()

    def _draw(self) -> None:
        width = max(self.size.width, 40)
        self.show(picker(self._folder, self._files, self._told, self._chosen, width, back=self._back))
        at, top, height = self._chosen + 2, self.scroll_offset.y, max(self.size.height, 1)
        if not top <= at < top + height:
            self.scroll_to(y=max(at - height // 2, 0), animate=False, immediate=True)

    def action_move(self, by: int) -> None:
        """To another trace."""
        self._chosen = min(max(self._chosen + by, 0), len(self._files) - 1)
        self._draw()

    def action_leave(self) -> None:
        """To the trace that is open."""
        self.post_message(Back())

    def action_pick(self) -> None:
        """Open the chosen trace."""
        self.post_message(OpenPath(str(self._files[self._chosen])))
