"""The first screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from tracelens.tui.actions import OVERVIEW, bindings
from tracelens.tui.pages.overview import overview
from tracelens.tui.rows import Row
from tracelens.tui.session import Session
from tracelens.tui.targets import Checks
from tracelens.tui.views.messages import Follow
from tracelens.tui.views.page import PageView


class OverviewView(PageView):
    """Verdict, forms, attribution and the largest costs."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(OVERVIEW)]

    def __init__(self, session: Session) -> None:
        super().__init__(session, id="overview")

    def page(self, width: int) -> Sequence[Row]:
        """The overview of the session."""
        return overview(self.session.document, self.session.costs, width)

    def _jump(self, number: int) -> None:
        if number < len(self.session.costs):
            self.post_message(Follow(self.session.costs[number].selection))

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
