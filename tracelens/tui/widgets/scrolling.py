"""Scrolling by the terminal itself: a few bytes move lines that would take thousands to send again."""

from __future__ import annotations

from textual.geometry import Region
from textual.widget import Widget

from tracelens.tui.widgets.palette import app_of


def scroll_terminal(widget: Widget, lines: Region, by: int) -> bool:
    """Move full-width lines of a widget up by so many, down if negative; False where the terminal cannot.

    The lines that come in are blank, and for the widget to draw."""
    app = app_of(widget)
    driver, place = app._driver, lines.translate(widget.content_region.offset)  # pyright: ignore[reportPrivateUsage]
    if driver is None or app.screen is not widget.screen or lines.width != app.size.width:
        return False
    # DECSTBM bounds what SU and SD scroll.
    driver.write(f"\x1b[{place.y + 1};{place.bottom}r\x1b[{abs(by)}{'S' if by > 0 else 'T'}\x1b[r")
    return True
