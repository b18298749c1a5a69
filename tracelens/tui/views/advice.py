"""Findings, blockers, what to do first and the code that does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from tracelens.tui.actions import ADVICE, bindings
from tracelens.tui.pages.advice import advice
from tracelens.tui.rows import Row
from tracelens.tui.session import Session
from tracelens.tui.views.messages import Copy
from tracelens.tui.views.page import PageView


class AdviceView(PageView):
    """The advice as a page whose evidence leads to its events."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ADVICE)]

    def __init__(self, session: Session) -> None:
        super().__init__(session, id="advice")

    def page(self, width: int) -> Sequence[Row]:
        """The advice of the session."""
        return advice(self.session.document, width)

    def action_copy_snippet(self) -> None:
        """Copy the code."""
        self.post_message(Copy(self.session.document["recommendation"]["snippet"], "the code"))
