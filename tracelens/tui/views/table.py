"""Tables, with what a row says below them, and the events behind an aggregate."""

from __future__ import annotations

import numpy as np
from textual.app import ComposeResult
from textual.containers import Vertical

from tracelens.model.events import ABSENT
from tracelens.tui.pages.details import brief
from tracelens.tui.rows import Row, cut, quiet, row, strong
from tracelens.tui.search import Query
from tracelens.tui.session import Atlas, Session
from tracelens.tui.table import Table
from tracelens.tui.tables import AGGREGATES, Linked, events_table, linked_table
from tracelens.tui.timeline import Selection
from tracelens.tui.views.messages import Changed, Jump
from tracelens.tui.widgets.lines import Lines
from tracelens.tui.widgets.table import TableView


class TablesView(Vertical):
    """One table at a time; each keeps its order and cursor while its session is open."""

    DEFAULT_CSS = """
    TablesView > #table-title { height: 1; }
    TablesView > #table-details { height: 4; border-top: solid $quiet; }
    Screen.-narrow TablesView > #table-details, Screen.-low TablesView > #table-details { display: none; }
    """

    def __init__(self, session: Session, atlas: Atlas) -> None:
        super().__init__(id="tables")
        self._session, self._atlas = session, atlas
        self._known: dict[str, Linked] = {}
        self._cursors: dict[str, int] = {}
        self.name_shown = ""
        self.shown = _EMPTY
        """What is on the screen: one of the tables, or the events behind a row of it."""

    def compose(self) -> ComposeResult:
        """A title, the table, and the details of a row."""
        yield Lines(id="table-title")
        yield TableView(_EMPTY.table, id="table")
        yield Lines(id="table-details")

    @property
    def grid(self) -> TableView:
        """The table on the screen."""
        return self.query_one("#table", TableView)

    @property
    def aggregate(self) -> bool:
        """Whether single events can be shown behind a row, or are shown now."""
        return self.name_shown in AGGREGATES

    @property
    def selection(self) -> Selection:
        """Where the row under the cursor leads."""
        at = self.grid.row
        return self.shown.selection(at) if at != ABSENT else Selection()

    @property
    def row_text(self) -> str:
        """The cells of the row under the cursor, with tabs between."""
        at = self.grid.row
        return "\t".join(column.cell(at) for column in self.grid.table.columns) if at != ABSENT else ""

    def open(self, session: Session) -> None:
        """Show the tables of another window."""
        self._session = session
        self._known.clear()
        self._cursors.clear()
        if self.name_shown:
            self.turn_to(self.name_shown)

    def turn_to(self, name: str) -> None:
        """Show one of the tables."""
        self._leave()
        self.name_shown = name
        if name not in self._known:
            self._known[name] = linked_table(self._session, name, self._atlas.gap_handles)
        self._show(self._known[name], self._cursors.get(name, 0))

    def _leave(self) -> None:
        if self.shown is self._known.get(self.name_shown):
            self._cursors[self.name_shown] = self.grid.cursor

    def _show(self, linked: Linked, cursor: int = 0) -> None:
        self.shown = linked
        self.grid.show(linked.table)
        self.grid.move_to(cursor)
        self._describe()

    def _describe(self) -> None:
        self.query_one("#table-title", Lines).show([self._title()])
        details = self.query_one("#table-details", Lines)
        if details.display:
            # Three rows: a move of the cursor should stay under 1 KB over a slow line.
            details.show(brief(self._session, self._atlas, self.selection, max(self.size.width, 1))[:3])

    def _title(self) -> Row:
        table = self.grid.table
        parts = [self.shown.title]
        if table.query is not None:
            parts.append(f"filter {table.query.text!r}: {len(table):,} left")
        if table.found is not None:
            parts.append(f"search {table.found.text!r}")
        position = f"{self.grid.cursor + 1:,} of {len(table):,}" if len(table) else "none"
        said = cut("  ".join(parts), max(self.size.width - 40, 20))
        return row(strong(f"{self.name_shown}  "), said, quiet(f"  {position}"))

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
        """Jump to the event of a row."""
        self.post_message(Jump(self.shown.selection(message.row)))

    def on_table_view_expanded(self, message: TableView.Expanded) -> None:
        """Show the events behind an aggregate, or the aggregates again."""
        if self.shown is not self._known.get(self.name_shown):
            self.turn_to(self.name_shown)
        elif self.shown.names:
            self._leave()
            self._show(events_table(self._session, self.name_shown, self.shown.names[message.row]))


_NOTHING = np.empty(0, dtype=np.int64)
_EMPTY = Linked(Table([]), _NOTHING, _NOTHING, "")
