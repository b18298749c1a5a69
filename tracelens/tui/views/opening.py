"""The views before a trace is open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType

from tracelens.loading.glance import told
from tracelens.tui.actions import DIRECTORY, bindings
from tracelens.tui.opening import Opening
from tracelens.tui.pages.opening import loading, picker, refused
from tracelens.tui.rows import cut_left
from tracelens.tui.search import Query
from tracelens.tui.views.messages import Back, OpenPath
from tracelens.tui.widgets.lines import Lines

ABOVE: Final = 2
"""Lines above the first trace."""
WHEEL: Final = 3
"""Traces that a turn of the wheel moves by."""


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
    """Which trace of a directory to open: all of them, or those whose names are asked for."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(DIRECTORY)]

    def __init__(self, folder: str, files: Sequence[Path], *, back: bool) -> None:
        super().__init__(id="picker")
        self._folder, self._back = folder, back
        self._told = {file: told(file) for file in files}
        self._query: Query | None = None
        self._shown = list(files)
        self._chosen = 0

    def on_resize(self) -> None:
        """Lines follow the width."""
        self._draw()

    def _title(self, width: int) -> str:
        found, known = f"{len(self._shown):,}", f"{len(self._told):,} traces and runs"
        if self._query is not None:
            return f"{found} of {known} match {self._query.text!r}; Esc shows all"
        return f"{known} in {cut_left(self._folder, width - 30)}"

    def _draw(self) -> None:
        width = max(self.size.width, 40)
        shown = {file: self._told[file] for file in self._shown}
        self.show(picker(self._title(width), shown, self._chosen, width, back=self._back))
        at, top, height = self._chosen + ABOVE, self.scroll_offset.y, max(self.size.height, 1)
        if not top <= at < top + height:
            # Forced, as before the first layout there is no scroll bar yet.
            self.scroll_to(y=max(at - height // 2, 0), animate=False, immediate=True, force=True)

    def only(self, query: Query | None) -> int:
        """Show the traces whose names are asked for, the chosen one still chosen if it is; returns how many."""
        chosen, self._query = self._shown[self._chosen : self._chosen + 1], query
        self._shown = [file for file in self._told if query is None or query.accepts(file.name)]
        self._chosen = self._shown.index(chosen[0]) if chosen and chosen[0] in self._shown else 0
        self._draw()
        return len(self._shown)

    def leave(self) -> None:
        """To all traces, then to the one that is open."""
        if self._query is not None:
            self.only(None)
        else:
            self.post_message(Back())

    def _move(self, by: int) -> None:
        self._chosen = min(max(self._chosen + by, 0), max(len(self._shown) - 1, 0))
        self._draw()

    @property
    def _page(self) -> int:
        return max(self.size.height - ABOVE, 1)

    def action_trace_up(self) -> None:
        """To the trace above."""
        self._move(-1)

    def action_trace_down(self) -> None:
        """To the trace below."""
        self._move(1)

    def action_trace_page_up(self) -> None:
        """One screen up."""
        self._move(-self._page)

    def action_trace_page_down(self) -> None:
        """One screen down."""
        self._move(self._page)

    def action_first_trace(self) -> None:
        """To the first."""
        self._move(-len(self._shown))

    def action_last_trace(self) -> None:
        """To the last."""
        self._move(len(self._shown))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Some traces up: what Enter opens is never off the screen."""
        event.prevent_default()
        self._move(-WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Some traces down."""
        event.prevent_default()
        self._move(WHEEL)

    def action_pick(self) -> None:
        """Open the chosen trace."""
        if self._shown:
            self.post_message(OpenPath(str(self._shown[self._chosen])))
