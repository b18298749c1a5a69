"""Findings, blockers, what to do first and the code that does it."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from tracelens.tui.actions import ADVICE, bindings
from tracelens.tui.pages.advice import advice
from tracelens.tui.session import Session
from tracelens.tui.views.messages import Copy
from tracelens.tui.widgets.linked import LinkedLines


class AdviceView(LinkedLines):
    """The advice as a page whose evidence leads to its events."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ADVICE)]

    def __init__(self, session: Session) -> None:
        super().__init__(id="advice")
        self._session = session

    def open(self, session: Session) -> None:
        """Show another window's session."""
        self._session = session
        self._draw()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._draw()

    def _draw(self) -> None:
        self.fill(partial(advice, self._session.document))

    def action_copy_snippet(self) -> None:
        """Copy the code."""
        self.post_message(Copy(self._session.document["recommendation"]["snippet"], "the code"))
