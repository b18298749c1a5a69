"""The first screen."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from tracelens.tui.actions import OVERVIEW, bindings
from tracelens.tui.pages.overview import overview
from tracelens.tui.session import Session
from tracelens.tui.targets import Checks
from tracelens.tui.views.messages import Follow
from tracelens.tui.widgets.linked import LinkedLines


class OverviewView(LinkedLines):
    """Verdict, forms, attribution and the largest costs."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(OVERVIEW)]

    def __init__(self, session: Session) -> None:
        super().__init__(id="overview")
        self._session = session

    def open(self, session: Session) -> None:
        """Show another window's session."""
        self._session = session
        self._draw()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._draw()

    def _draw(self) -> None:
        self.fill(partial(overview, self._session.document, self._session.costs))

    def _jump(self, number: int) -> None:
        if number < len(self._session.costs):
            self.post_message(Follow(self._session.costs[number].selection))

    def action_cost_1(self) -> None:
        """To the largest cost."""
        self._jump(0)

    def action_cost_2(self) -> None:
        """To the second largest cost."""
        self._jump(1)

    def action_cost_3(self) -> None:
        """To the third largest cost."""
        self._jump(2)

    def action_checks(self) -> None:
        """Show all checks."""
        self.post_message(Follow(Checks()))
