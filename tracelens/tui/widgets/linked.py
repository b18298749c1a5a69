"""Lines with links, as in a text browser: a cursor goes from link to link, and scrolls where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from tracelens.tui.actions import PAGE, bindings
from tracelens.tui.rows import Look, Row
from tracelens.tui.views.messages import Follow
from tracelens.tui.widgets.lines import Lines


@dataclass(frozen=True, slots=True)
class _Anchor:
    """Where a link is: its row, the number of its piece, and its first and behind-last cell."""

    row: int
    piece: int
    left: int
    right: int
    link: object


class LinkedLines(Lines, can_focus=True):
    """Rows some of whose pieces lead somewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(PAGE)]

    @dataclass
    class Pointed(Message):
        """The cursor is on another link."""

        link: object

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._unmarked: Sequence[Row] = ()
        self._anchors: list[_Anchor] = []
        self._at = 0

    @property
    def link(self) -> object:
        """The link under the cursor; None where there is none."""
        return self._anchors[self._at].link if self._anchors else None

    def show(self, rows: Sequence[Row]) -> None:
        """Show other rows; the cursor stays on its link if that is still there."""
        link = self.link
        self._unmarked, self._anchors = rows, _anchors(rows)
        links = [anchor.link for anchor in self._anchors]
        self._at = links.index(link) if link in links else min(self._at, max(len(links) - 1, 0))
        super().show(self._marked())

    def _marked(self) -> list[Row]:
        rows = list(self._unmarked)
        if self._anchors:
            at = self._anchors[self._at]
            line = list(rows[at.row])
            line[at.piece] = replace(line[at.piece], look=Look.CURSOR)
            rows[at.row] = tuple(line)
        return rows

    def _point(self, at: int) -> None:
        if at != self._at:
            self._at = at
            super().show(self._marked())
            self.post_message(self.Pointed(self.link))

    def _shown(self, row: int) -> bool:
        return 0 <= row - self.scroll_offset.y < self.size.height

    def _scroll(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False, immediate=True)

    def _move(self, direction: int) -> None:
        """To the nearest link of the next row that has one and is on the screen, else scroll a line."""
        if not self._anchors:
            self._scroll(direction)
            return
        here = self._anchors[self._at]
        seen = [at for at, anchor in enumerate(self._anchors) if self._shown(anchor.row)]
        if seen and not self._shown(here.row):
            self._point(seen[0] if direction > 0 else seen[-1])
            return
        beyond = [anchor.row for anchor in self._anchors if (anchor.row - here.row) * direction > 0]
        row = min(beyond, key=lambda row: abs(row - here.row), default=here.row)
        if row == here.row or not self._shown(row):
            self._scroll(direction)
        if row != here.row and self._shown(row):
            beside = [at for at, anchor in enumerate(self._anchors) if anchor.row == row]
            self._point(min(beside, key=lambda at: abs(self._anchors[at].left - here.left)))

    def action_link_up(self) -> None:
        """To a link above."""
        self._move(-1)

    def action_link_down(self) -> None:
        """To a link below."""
        self._move(1)

    def action_link_left(self) -> None:
        """To the link before."""
        self._point(max(self._at - 1, 0))

    def action_link_right(self) -> None:
        """To the link behind."""
        self._point(min(self._at + 1, max(len(self._anchors) - 1, 0)))

    def action_link_page_up(self) -> None:
        """One screen up."""
        self._scroll(-self.size.height)

    def action_link_page_down(self) -> None:
        """One screen down."""
        self._scroll(self.size.height)

    def action_follow_link(self) -> None:
        """Tell which link is chosen."""
        if self.link is not None:
            self.post_message(Follow(self.link))

    def on_click(self, event: events.Click) -> None:
        """Follow the link that was clicked."""
        row = self.scroll_offset.y + event.y
        for at, anchor in enumerate(self._anchors):
            if anchor.row == row and anchor.left <= event.x < anchor.right:
                self._point(at)
                self.action_follow_link()


def _anchors(rows: Sequence[Row]) -> list[_Anchor]:
    found: list[_Anchor] = []
    for number, line in enumerate(rows):
        left = 0
        for index, piece in enumerate(line):
            right = left + len(piece.text)
            if piece.link is not None and piece.text:
                found.append(_Anchor(number, index, left, right, piece.link))
            left = right
    return found
