"""Lines of styled text that scroll, of which only the changed ones are drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from tracelens.tui.rows import EMPTY, Row, changed, crop
from tracelens.tui.visible import visible
from tracelens.tui.widgets.palette import follow_theme, styles_of


class Lines(ScrollView, can_focus=False):
    """Shows rows; scrolls when there are more than fit."""

    DEFAULT_CSS = """
    Lines { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def __init__(self, rows: Sequence[Row] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows = list(rows)

    def on_mount(self) -> None:
        """Follow the theme."""
        follow_theme(self, self.refresh)
        self._measure()

    @property
    def rows(self) -> Sequence[Row]:
        """What is shown."""
        return self._rows

    def on_focus(self, event: events.Focus) -> None:
        """Take the keys, which textual would show by drawing all lines anew; they look the same."""
        event.prevent_default()
        self.has_focus = True

    def on_blur(self, event: events.Blur) -> None:
        """Leave the keys to another, likewise."""
        event.prevent_default()
        self.has_focus = False

    def show(self, rows: Sequence[Row]) -> None:
        """Show other rows, and draw those that differ."""
        old, self._rows = self._rows, list(rows)
        self._measure()
        top = self.scroll_offset.y
        for y in range(self.size.height):
            before, after = (rows[top + y] if top + y < len(rows) else EMPTY for rows in (old, self._rows))
            span = changed(before, after, self._width) if before != after else None
            if span is not None:
                self.refresh(Region(span[0], y, span[1] - span[0], 1))

    def fill(self, page: Callable[[int], Sequence[Row]]) -> None:
        """Show what a page gives for a width in cells; it leaves one to the scroll bar if it needs that."""
        if size := self.size or self._around:
            rows = page(size.width)
            self.show(rows if len(rows) <= size.height else page(size.width - 1))

    @property
    def _around(self) -> Size:
        """Of what the widget lies in and will fill once it is laid out."""
        return self.parent.size if isinstance(self.parent, Widget) else Size()

    @property
    def _width(self) -> int:
        """Cells that no scroll bar covers."""
        return self.scrollable_content_region.width

    def _measure(self) -> None:
        size = Size(self.size.width, len(self._rows))
        if max(size.height, self.virtual_size.height) <= self.size.height:
            # Assigning it would lay out and draw the whole screen anew, for scroll bars that nobody needs.
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
        else:
            self.virtual_size = size

    def on_resize(self) -> None:
        """Lines are as wide as the widget."""
        self._measure()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width, at = self._width, self.scroll_offset.y + y
        line = crop(self._rows[at], width) if at < len(self._rows) else ()
        styles, ground = styles_of(self), self.rich_style
        segments = [Segment(visible(piece.text), ground + styles[piece.look]) for piece in line]
        return Strip(segments).adjust_cell_length(width, ground)
