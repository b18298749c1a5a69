"""Tables, with what a row says below them, and the events behind an aggregate."""

from __future__ import annotations

from typing import Final

import numpy as np
from textual.app import ComposeResult
from textual.containers import Vertical

from tracelens.model import units
from tracelens.model.events import ABSENT
from tracelens.reporting.printable import printable
from tracelens.tui.atlas import Atlas
from tracelens.tui.linked import Linked
from tracelens.tui.pages.details import brief
from tracelens.tui.rows import Row, quiet, row, strong, text
from tracelens.tui.search import Query
from tracelens.tui.selection import Selection
from tracelens.tui.session import Session
from tracelens.tui.table import Table
from tracelens.tui.tables import linked_table
from tracelens.tui.views.messages import Changed, Copy, Follow
from tracelens.tui.widgets.lines import Lines
from tracelens.tui.widgets.table import TableView

MOST_COPIED: Final = 500
"""Rows: more is for an export."""
NOTHING: Final = Selection()


class TablesView(Vertical):
    """One table at a time; each keeps its order, filter and search, and while its session is open its cursor."""

    DEFAULT_CSS = """
    TablesView > #table-title { height: 1; }
    TablesView > #table-details { height: 4; border-top: solid $quiet; }
    """

    def __init__(self, session: Session, atlas: Atlas) -> None:
        super().__init__(id="tables")
        self._session, self._atlas = session, atlas
        self._known: dict[str, Linked] = {}
        self._former: dict[str, Linked] = {}
        """The tables of another window, whose order and filter those of this one adopt."""
        self._cursors: dict[str, int] = {}
        # Made here, not when they are composed: the app asks what is selected at any time.
        self._heading = Lines(id="table-title")
        self.grid = TableView(_EMPTY.table, id="table")
        """The table on the screen."""
        self._details = Lines(id="table-details")
        self.name_shown = ""
        self.shown = _EMPTY
        """What is on the screen: one of the tables, or the events behind a row of it."""

    def compose(self) -> ComposeResult:
        """A title, the table, and the details of a row."""
        yield self._heading
        yield self.grid
        yield self._details

    def on_resize(self) -> None:
        """Details follow the width."""
        self.call_after_refresh(self._describe)

    @property
    def expands(self) -> bool:
        """Whether what a row stands for can be shown, or is shown now."""
        known = self._known.get(self.name_shown)
        return known is not None and known.expand is not None

    @property
    def selection(self) -> Selection:
        """Where the row under the cursor leads."""
        at = self.grid.row
        return self.shown.selection(at) if at != ABSENT else Selection()

    @property
    def row_text(self) -> str:
        """The cells of the row under the cursor, with tabs between."""
        at = self.grid.row
        return "\t".join(printable(column.cell(at)) for column in self.grid.table.columns) if at != ABSENT else ""

    def open(self, session: Session) -> None:
        """Show the tables of another window."""
        selection, self._session = self.selection, session
        self._former |= self._known
        self._known.clear()
        self._cursors.clear()
        self.shown = _EMPTY
        if self.name_shown:
            self.turn_to(self.name_shown, selection)

    def turn_to(self, name: str, selection: Selection = NOTHING) -> None:
        """Show one of the tables, with its cursor on what is selected elsewhere if it has that."""
        self._leave()
        self.name_shown = name
        if name not in self._known:
            self._known[name] = self._make(name)
        known = self._known[name]
        place = known.place(selection, self._name_of(selection))
        self._show(known, self._cursors.get(name, 0) if place == ABSENT else place)

    def _make(self, name: str) -> Linked:
        made = linked_table(self._session, self._atlas, name)
        if name in self._former:
            made.table.adopt(self._former[name].table)
        return made

    def _name_of(self, selection: Selection) -> str:
        trace = self._session.trace
        return trace.names[int(trace.events.name[selection.row])] if selection.row != ABSENT else ""

    def _leave(self) -> None:
        if self.shown is self._known.get(self.name_shown):
            self._cursors[self.name_shown] = self.grid.cursor

    def _show(self, linked: Linked, cursor: int = 0) -> None:
        self.shown = linked
        self.grid.show(linked.table)
        self.grid.move_to(cursor)
        self._describe()

    def _describe(self) -> None:
        self._heading.show([self._title()])
        if self._details.display:
            # Three rows in one look each: a move of the cursor should stay under 1 KB over a slow line.
            known = brief(self._session, self._atlas, self.selection, max(self.size.width, 1))[:3]
            self._details.show([row(text(line)) for line in known])

    def _title(self) -> Row:
        table = self.grid.table
        parts = [f"{self.grid.cursor + 1:,} of {len(table):,}" if len(table) else "none"]
        if table.query is not None:
            parts.append(f"filter {table.query.text!r} of {units.counted(table.size, 'row')}")
        if table.found is not None:
            parts.append(f"search {table.found.text!r}")
        return row(strong(f"{self.name_shown}  "), "  ".join(parts), quiet(f"  {self.shown.title}"))

    def filter(self, query: Query | None) -> int:
        """Show only rows that are asked for; returns how many."""
        self.grid.table.filter(query)
        self.grid.rearranged()
        self._describe()
        return len(self.grid.table)

    def search(self, query: Query | None) -> bool:
        """Go to the first row that is asked for."""
        self.grid.table.found = query
        self._describe()
        return self.next_match(1)

    def next_match(self, direction: int) -> bool:
        """Go to the next row found; False without one."""
        place = self.grid.table.next_match(self.grid.cursor, direction)
        if place != ABSENT:
            self.grid.move_to(place)
        return place != ABSENT

    def on_table_view_moved(self) -> None:
        """The details follow the cursor."""
        self._describe()
        self.post_message(Changed())

    def on_table_view_chosen(self, message: TableView.Chosen) -> None:
        """Jump to the event of a row, unless another table is shown by now."""
        if message.table is self.shown.table:
            self.post_message(Follow(self.shown.selection(message.row)))

    def on_table_view_expanded(self, message: TableView.Expanded) -> None:
        """Show what a row stands for, or the row among the others again; unless another table is shown by now."""
        if message.table is not self.shown.table:
            return
        if self.shown is not self._known.get(self.name_shown):
            self.turn_to(self.name_shown)
        elif self.shown.expand is not None:
            self._leave()
            self._show(self.shown.expand(message.row))

    def on_table_view_copied(self) -> None:
        """Copy the table."""
        rows = min(len(self.grid.table), MOST_COPIED)
        self.post_message(Copy(self.grid.table.markdown(rows), f"the table's first {rows:,} rows"))


_EMPTY = Linked(Table([]), np.empty(0, np.int64), np.empty(0, np.int64), "")
