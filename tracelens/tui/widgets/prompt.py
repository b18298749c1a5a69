"""A line to type into, at the bottom of the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from tracelens.tui.rows import row, strong
from tracelens.tui.widgets.lines import Lines


class Prompt(Horizontal):
    """Asks for one line for some purpose, behind a word on what is asked; hidden while nothing is asked."""

    DEFAULT_CSS = """
    Prompt { height: 1; }
    Prompt > #asked { height: 1; }
    Prompt > Input, Prompt > Input:focus {
        height: 1; width: 1fr; border: none; padding: 0; background: $background;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    @dataclass
    class Answered(Message):
        """A line was typed; None when it was left with Esc."""

        purpose: str
        text: str | None

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.display = False
        self._purpose = ""
        self._asked = Lines(id="asked")
        self.line = Input(select_on_focus=False)
        # A blinking cursor would send bytes for as long as the prompt is open.
        self.line.cursor_blink = False

    def compose(self) -> ComposeResult:
        """What is asked, and the line."""
        yield self._asked
        yield self.line

    def ask(self, purpose: str, asked: str, hint: str = "", answer: str = "") -> None:
        """Open the line with what is asked, a hint shown while it is empty, and the answer to begin from."""
        self._purpose = purpose
        self._asked.styles.width = len(asked) + 2
        self._asked.show([row(strong(f"{asked}: "))])
        self.line.placeholder, self.line.value, self.line.cursor_position = hint, answer, len(answer)
        # At once, so that what is typed next is not taken for keys of the view.
        self.display = True
        self.screen.set_focus(self.line)

    def _close(self, text: str | None) -> None:
        self.display = False
        self.post_message(self.Answered(self._purpose, text))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Enter answers."""
        message.stop()
        self._close(message.value)

    def action_leave(self) -> None:
        """Esc leaves without an answer."""
        self._close(None)
