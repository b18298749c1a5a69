"""Findings, blockers, what to do first and the code that does it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from tracelens.tui.actions import ADVICE, bindings
from tracelens.tui.pages.advice import advice
from tracelens.tui.session import Session
from tracelens.tui.views.messages import Copy, JumpTo, Said
from tracelens.tui.widgets.lines import Lines


class AdviceView(Lines, can_focus=True):
    """A cursor on the findings; Enter walks through the evidence of one."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(ADVICE)]

    def __init__(self, session: Session) -> None:
        super().__init__(id="advice")
        self._session = session
        self._chosen = 0
        self._piece = 0

    def open(self, session: Session) -> None:
        """Show another window's session."""
        self._session, self._chosen, self._piece = session, 0, 0
        self._draw()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._draw()

    def _draw(self) -> None:
        if not self.size.width:
            return
        rows, at = advice(self._session.document, self._chosen, self.size.width)
        self.show(rows)
        top, height = self.scroll_offset.y, self.size.height
        if self._chosen and not top <= at < top + height - 3:
            self.scroll_to(y=max(at - 2, 0), animate=False, immediate=True)

    def _choose(self, by: int) -> None:
        number = len(self._session.document["findings"])
        self._chosen, self._piece = min(max(self._chosen + by, 0), max(number - 1, 0)), 0
        if not self._chosen:
            self.scroll_to(y=0, animate=False, immediate=True)
        self._draw()

    def action_finding_up(self) -> None:
        """To the finding above."""
        self._choose(-1)

    def action_finding_down(self) -> None:
        """To the finding below."""
        self._choose(1)

    def action_evidence(self) -> None:
        """Jump to the chosen finding's evidence, a further piece at each press."""
        findings = self._session.document["findings"]
        evidence = findings[self._chosen]["evidence"] if findings else []
        if not evidence:
            self.post_message(Said("This finding names no event."))
            return
        handle = evidence[self._piece % len(evidence)]
        self._piece += 1
        self.post_message(JumpTo(handle))

    def action_copy_snippet(self) -> None:
        """Copy the code."""
        self.post_message(Copy(self._session.document["recommendation"]["snippet"], "the code"))
