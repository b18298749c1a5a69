"""A page on what is open."""

from __future__ import annotations

from collections.abc import Sequence

from tracelens.tui.rows import Row
from tracelens.tui.session import Session
from tracelens.tui.widgets.linked import LinkedLines


class PageView(LinkedLines):
    """Lines on a session, as wide as the screen."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(id=id)
        self.session = session

    def page(self, width: int) -> Sequence[Row]:
        """All rows, at most `width` cells wide."""
        raise NotImplementedError

    def open(self, session: Session) -> None:
        """Show another window's session."""
        self.session = session
        self.fill(self.page)

    def on_mount(self) -> None:
        """Be there when the screen is first drawn."""
        self.fill(self.page)

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.fill(self.page)
