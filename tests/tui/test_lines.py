"""Lines are drawn once, with what they say."""

from __future__ import annotations

import asyncio

from textual.strip import Strip

from tracelens.tui.rows import Row, row
from tracelens.tui.shell import Shell
from tracelens.tui.widgets.linked import LinkedLines


class Page(LinkedLines):
    """Keeps what was drawn in its first line."""

    def __init__(self) -> None:
        super().__init__(id="page")
        self.drawn: list[str] = []

    def on_mount(self) -> None:
        self.fill(self.page)

    def on_resize(self) -> None:
        self.fill(self.page)

    def page(self, width: int) -> list[Row]:
        return [row(f"{width} cells wide")]

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        self.drawn += [strip.text.rstrip()] if not y else []
        return strip


def drawn(*, width: int) -> list[str]:
    """What a page that is put on the screen and gets the keys has drawn in its first line."""

    async def drive() -> list[str]:
        app, page = Shell(), Page()
        async with app.run_test(size=(width, 20)) as pilot:
            await app.switcher.add_content(page, set_current=True)
            app.screen.set_focus(page)
            await pilot.pause(0.2)
            assert page.has_focus
            return page.drawn

    return asyncio.run(drive())


def test_a_page_is_drawn_once_with_what_it_says() -> None:
    assert drawn(width=60) == ["60 cells wide"]
