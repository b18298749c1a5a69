"""A line to type into, at the bottom of the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class Prompt(Input):
    """Asks for one line for some purpose; hidden while nothing is asked."""

    DEFAULT_CSS = """
    Prompt, Prompt:focus { height: 1; border: none; padding: 0; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    @dataclass
    class Answered(Message):
        """A line was typed; None when it was left with Esc."""

        purpose: str
        text: str | None

    def __init__(self) -> None:
        super().__init__(id="prompt", select_on_focus=False)
        # A blinking cursor would send bytes for as long as the prompt is open.
        self.cursor_blink = False
        self.display = False
        self._purpose = ""

    def ask(self, purpose: str, question: str, answer: str = "") -> None:
        """Open the line with a question and the answer to begin from."""
        self._purpose = purpose
        self.placeholder = question
        self.value = answer
        self.cursor_position = len(answer)
        # At once, so that what is typed next is not taken for keys of the view.
        self.display = True
        self.screen.set_focus(self)

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
