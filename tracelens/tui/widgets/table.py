"""A table on the screen: a cursor on rows, of which a move draws two lines, even when it scrolls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tracelens.model.events import ABSENT
from tracelens.tui.actions import TABLE, bindings
from tracelens.tui.rows import Look
from tracelens.tui.table import Table
from tracelens.tui.widgets.palette import follow_theme, styles_of
from tracelens.tui.widgets.scrolling import scroll_terminal

WHEEL: Final = 3
"""Rows that a turn of the wheel moves by."""


class TableView(Widget, can_focus=True):
    """Draws a table; its first line on the screen holds the names of the columns."""

    DEFAULT_CSS = "TableView { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TABLE)]

    @dataclass
    class Chosen(Message):
        """Enter was pressed on a row of a table, or the row was clicked again."""

        table: Table
        row: int

    @dataclass
    class Expanded(Message):
        """The single events behind a row of a table are asked for."""

        table: Table
        row: int

    @dataclass
    class Copied(Message):
        """The table is to be copied."""

    @dataclass
    class Moved(Message):
        """The cursor is on another row."""

        row: int

    def __init__(self, table: Table, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.table = table
        self.cursor = 0
        self.top = 0
        """The place of the order in the first line below the heading."""
        self._drawn: dict[int, tuple[int, bool]] = {}
        """What each line of the screen shows: a row, and whether the cursor is on it."""
        self._fits = Size(0, 0)
        self._fitted: tuple[Table, int, list[int]] | None = None

    def on_mount(self) -> None:
        """Follow the theme."""
        follow_theme(self, self.rearranged)

    @property
    def row(self) -> int:
        """The row of the columns under the cursor; ABSENT in an empty table."""
        return int(self.table.order[self.cursor]) if self.cursor < len(self.table) else ABSENT

    def show(self, table: Table) -> None:
        """Show another table, from its first row."""
        self.table, self.cursor = table, 0
        self.rearranged()

    def rearranged(self) -> None:
        """Draw all anew after the rows or their order have changed."""
        self.cursor = min(self.cursor, max(len(self.table) - 1, 0))
        self.top = self._top()
        self._drawn.clear()
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Columns follow the width; being shown again changes nothing."""
        if event.size != self._fits:
            self._fits = event.size
            self.rearranged()

    @property
    def _widths(self) -> list[int]:
        """Cells of each column, chosen once for a table and a width."""
        table, width = self.table, self.size.width
        if self._fitted is None or self._fitted[:2] != (table, width):
            self._fitted = (table, width, table.widths(width))
        return self._fitted[2]

    # -- moving ---------------------------------------------------------------------------------------------

    @property
    def _height(self) -> int:
        """Rows on the screen, below the heading."""
        return max(self.size.height - 1, 1)

    def move_to(self, position: int) -> None:
        """Put the cursor on a place of the order."""
        old, self.cursor = self.cursor, min(max(position, 0), max(len(self.table) - 1, 0))
        if old == self.cursor:
            return
        self._scroll(self._top())
        for y in range(1, self.size.height):
            if self._drawn.get(y) != self._at(y):
                self.refresh(Region(0, y, self.size.width, 1))
        self.post_message(self.Moved(self.row))

    def _top(self) -> int:
        """The nearest first place that shows the cursor and leaves no line empty without need."""
        top = min(self.top, max(len(self.table) - self._height, 0))
        return min(max(top, self.cursor - self._height + 1), self.cursor)

    def _scroll(self, top: int) -> None:
        """Let the terminal move the rows that stay on the screen: they need not be sent again."""
        by, self.top = top - self.top, top
        if by and abs(by) < self._height and scroll_terminal(self, Region(0, 1, self.size.width, self._height), by):
            self._drawn = {y - by: shown for y, shown in self._drawn.items() if 0 < y - by <= self._height}

    def _at(self, y: int) -> tuple[int, bool]:
        """The row that belongs in a line of the screen, ABSENT for none, and whether the cursor is on it."""
        place = self.top + y - 1
        row = int(self.table.order[place]) if place < len(self.table) else ABSENT
        return row, place == self.cursor and row != ABSENT

    def action_row_up(self) -> None:
        """One row up."""
        self.move_to(self.cursor - 1)

    def action_row_down(self) -> None:
        """One row down."""
        self.move_to(self.cursor + 1)

    def action_page_up(self) -> None:
        """One screen up."""
        self.move_to(self.cursor - self._height)

    def action_page_down(self) -> None:
        """One screen down."""
        self.move_to(self.cursor + self._height)

    def action_first_row(self) -> None:
        """To the first row."""
        self.move_to(0)

    def action_last_row(self) -> None:
        """To the last row."""
        self.move_to(len(self.table) - 1)

    # -- order and choice -----------------------------------------------------------------------------------

    def action_sort_next(self) -> None:
        """Sort by the column to the right."""
        self._sort(self.table.sorted_by + 1)

    def action_sort_previous(self) -> None:
        """Sort by the column to the left."""
        self._sort(self.table.sorted_by - 1)

    def action_sort_reverse(self) -> None:
        """Turn the order around."""
        self.table.sort(max(self.table.sorted_by, 0), descending=not self.table.descending)
        self.rearranged()

    def _sort(self, column: int) -> None:
        self.table.sort(column)
        self.rearranged()

    def action_jump(self) -> None:
        """Tell that this row is chosen."""
        if self.row != ABSENT:
            self.post_message(self.Chosen(self.table, self.row))

    def action_events(self) -> None:
        """Tell that the events behind this row are asked for."""
        if self.row != ABSENT:
            self.post_message(self.Expanded(self.table, self.row))

    def action_copy_table(self) -> None:
        """Tell that the table is to be copied."""
        self.post_message(self.Copied())

    def on_click(self, event: events.Click) -> None:
        """Choose a column to sort by, move to a row, or choose the row that the cursor is on."""
        if event.y == 0:
            self._sort_at(event.x)
            return
        place = self.top + event.y - 1
        if place == self.cursor:
            self.action_jump()
        elif place < len(self.table):
            self.move_to(place)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Some rows up."""
        self.move_to(self.cursor - WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Some rows down."""
        self.move_to(self.cursor + WHEEL)

    def _sort_at(self, x: int) -> None:
        right = 0
        for column, width in enumerate(self._widths):
            right += width + (width > 0)
            if x < right:
                reverse = column == self.table.sorted_by
                self.table.sort(column, descending=not self.table.descending if reverse else None)
                self.rearranged()
                return

    # -- drawing --------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines as they are now: what the terminal has moved must not come from the cache."""
        self._styles_cache.clear()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The names of the columns, or one row."""
        width, ground = self.size.width, self.rich_style
        text, look = (self.table.heading(self._widths), Look.HEAD) if y == 0 else self._row(y)
        style = ground + styles_of(self)[look]
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    def _row(self, y: int) -> tuple[str, Look]:
        self._drawn[y] = row, chosen = self._at(y)
        if row == ABSENT:
            return (" nothing to show" if y == 1 else ""), Look.QUIET
        return self.table.line(row, self._widths), Look.CURSOR if chosen else Look.PLAIN
