"""Text over everything else: help, all details of an event, and the choice of an export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tracelens.tui.leaving import LeftOnce
from tracelens.tui.rows import Look, Piece, Row, row
from tracelens.tui.widgets.lines import Lines


class TextDialog(LeftOnce, ModalScreen[None]):
    """Rows that scroll; Esc, q or Enter leaves."""

    DEFAULT_CSS = """
    TextDialog { align: center middle; }
    TextDialog > #dialog { width: 90%; height: 90%; border: round $primary; padding: 0 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "leave", "Leave", show=False),
        Binding("up,k", "scroll(-1)", "Up", show=False),
        Binding("down,j", "scroll(1)", "Down", show=False),
        Binding("pageup", "scroll(-20)", "Page up", show=False),
        Binding("pagedown,space", "scroll(20)", "Page down", show=False),
    ]

    def __init__(self, title: str, page: Callable[[int], Sequence[Row]]) -> None:
        super().__init__()
        self._page, self._lines = page, Lines(id="dialog")
        self._lines.border_title = title

    def compose(self) -> ComposeResult:
        """One box."""
        yield self._lines

    def on_resize(self) -> None:
        """Rows follow the width."""
        self.call_after_refresh(self._lines.fill, self._page)

    def action_leave(self) -> None:
        """Back to the view."""
        self.dismiss()

    def action_scroll(self, by: int) -> None:
        """By some lines."""
        self._lines.scroll_relative(y=by, animate=False)


class ChoiceDialog(LeftOnce, ModalScreen[str | None]):
    """Choose one of a few by its key."""

    DEFAULT_CSS = """
    ChoiceDialog { align: center middle; }
    ChoiceDialog > #dialog { width: 60; height: auto; border: round $primary; padding: 0 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Leave", show=False),
        *(Binding(str(digit), f"choose('{digit}')", "Choose", show=False) for digit in range(1, 10)),
    ]

    def __init__(self, title: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._title, self._choices = title, dict(choices)

    def compose(self) -> ComposeResult:
        """One box with a row for each choice."""
        lines = Lines([row(Piece(f" {key} ", Look.KEY), words) for key, words in self._choices.items()], id="dialog")
        lines.border_title = self._title
        lines.styles.height = len(self._choices) + 2
        yield lines

    def action_choose(self, key: str) -> None:
        """The key of a choice chooses it."""
        if key in self._choices:
            self.dismiss(key)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)
