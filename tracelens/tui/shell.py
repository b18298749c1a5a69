"""The app around the views: tabs, a line of status, a prompt, colours, the clipboard, and clean ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.filter import LineFilter
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from tracelens.exitcodes import ExitCode
from tracelens.tui import clipboard
from tracelens.tui.actions import EVERYWHERE, bindings
from tracelens.tui.leaving import LeftOnce
from tracelens.tui.plain import PlainText
from tracelens.tui.resizing import SizedOnce
from tracelens.tui.rows import Look, Row, row, strong, wrapped
from tracelens.tui.signals import end_cleanly, resume_once
from tracelens.tui.terminal import erasing, lenient
from tracelens.tui.theme import DEFAULTS, THEMES
from tracelens.tui.visible import VisibleText
from tracelens.tui.widgets.lines import Lines
from tracelens.tui.widgets.prompt import Prompt

SMALLEST = (60, 16)


class Ground(SizedOnce, Screen[None]):
    """The screen below all dialogs. Widgets show that they have the focus: it need not be painted anew for that."""

    focused = reactive[Widget | None](None, repaint=False)


class Palette(LeftOnce, CommandPalette):
    """The command palette; a page of it may be asked for before it has room for a line."""

    def __init__(self) -> None:
        super().__init__(id="--command-palette")
        self._parts: dict[object, Widget] = {}

    def query_one(self, selector: Any, expect_type: Any = None) -> Any:  # noqa: ANN401 - as textual has it
        """A part of it, also once it has been left: what is typed or found until then ends up there."""
        try:
            self._parts[selector] = super().query_one(selector, expect_type)
        except NoMatches:
            if selector not in self._parts:
                raise
        return self._parts[selector]

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):
            super()._action_command_list(action)


class Shell(App[int]):
    """Knows nothing of traces."""

    CSS = """
    Screen { background: $background; layers: base; }
    #tabs, #status { height: 1; }
    #body { height: 1fr; }
    #views { height: 1fr; }
    #small { display: none; height: 1fr; }
    Screen.-low #table-details { display: none; }
    Screen.-low #event { height: 4; }
    Screen.-tiny #body, Screen.-flat #body { display: none; }
    Screen.-tiny #small, Screen.-flat #small { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(EVERYWHERE)]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it, as an instance variable
        (0, "-tiny"),
        (60, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (16, "-low"), (22, "-tall")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = True
    ESCAPE_TO_MINIMIZE = False
    TITLE = "tracelens"

    def __init__(self) -> None:
        plain = os.environ.get("NO_COLOR") is not None or few_colors(os.environ)
        super().__init__(ansi_color=True if plain else None)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "tracelens-plain-dark" if plain else "tracelens-dark"
        self.animation_level = "none"
        self._said = ""
        self.ascii = False
        """Whether to draw with ASCII alone."""
        self.defect: Exception | None = None
        """What of ours ended the app."""

    def get_default_screen(self) -> Screen[None]:
        """The screen that the views are on."""
        return Ground(id="_default")

    def get_driver_class(self) -> type[Driver]:
        """The driver of the platform, which takes any input and leaves nothing behind."""
        return erasing(lenient(super().get_driver_class()))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line goes through before it is drawn."""
        return [*super().get_line_filters(), VisibleText(), *([PlainText()] if self.ascii else [])]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Inks for themes that are not ours."""
        return {**super().get_theme_variable_defaults(), **DEFAULTS[self.current_theme.dark]}

    def compose(self) -> ComposeResult:
        """Tabs, the view, a line to type into, and the status."""
        with Vertical(id="body"):
            yield Lines(id="tabs")
            yield ContentSwitcher(id="views")
            yield Prompt()
            yield Lines(id="status")
        yield Lines(id="small")

    def on_load(self) -> None:
        """End cleanly, with the terminal restored, when the session is ended from outside: from before it is taken."""
        # In its turn: what is under way, as the first drawing, takes no end in between.
        end_cleanly(partial(self.call_later, self._end))

    async def on_mount(self) -> None:
        """Take the terminal again only after it was given back."""
        resume_once()

    def _fatal_error(self) -> None:
        # Without a traceback on the screen: the command line tells of it in a line, as of every defect. Once the app is
        # told to end it takes no further view, and what stumbles over that is none.
        self.defect = self._exception if self.return_value is None else None
        self.panic()

    def _end(self) -> None:
        self.exit(int(ExitCode.INTERRUPTED), return_code=int(ExitCode.INTERRUPTED))

    async def on_resize(self) -> None:
        """The shell's lines follow the width; a terminal that is too small keeps no dialog open."""
        while self.is_too_small and len(self.screen_stack) > 1:
            if isinstance(self.screen, CommandPalette):
                # It ends its search before it closes.
                await self.run_action("escape", self.screen)
            else:
                self.pop_screen()
        if self.screen_stack and self.screen_stack[0].query("#tabs"):
            self.call_after_refresh(self.sync_lines)

    @property
    def is_too_small(self) -> bool:
        """Whether nothing can be shown, so that no key but q means anything."""
        return self.size.width < SMALLEST[0] or self.size.height < SMALLEST[1]

    async def on_event(self, event: events.Event) -> None:
        """A key ends the news; what it does draws the status anew."""
        if isinstance(event, events.Key):
            self._said = ""
        if self.is_too_small and isinstance(event, events.InputEvent | events.Paste):
            if isinstance(event, events.Key) and event.key in ("q", "ctrl+q", "ctrl+c"):
                await self.run_action("quit")
            return
        if not (isinstance(event, events.Key) and not event.is_forwarded and await self._done_at_once(event)):
            await super().on_event(event)

    async def _done_at_once(self, key: events.Key) -> bool:
        """Do what a key is for before the next one is looked at; False if it is for nothing.

        textual would do it after the key has come back from what has the focus, and would send there, too, what is
        typed meanwhile: letters of a search to the table that the search begins in."""
        self.app_focus = True
        if await self._check_bindings(key.key, priority=True):
            return True
        if self.focused is None or not self.focused.check_consume_key(key.key, key.character):
            return await self._check_bindings(key.key)
        await self.focused.on_event(key)
        return True

    @property
    def switcher(self) -> ContentSwitcher:
        """Where the views are."""
        return self.screen_stack[0].query_one("#views", ContentSwitcher)

    @property
    def prompt(self) -> Prompt:
        """The line to type into."""
        return self.screen_stack[0].query_one(Prompt)

    def lines(self, id: str) -> Lines:
        """One of the shell's own lines."""
        return self.screen_stack[0].query_one(f"#{id}", Lines)

    def say(self, text: str) -> None:
        """Show a line for the user until the next action."""
        self._said = text
        self.sync_status()

    def tabs(self) -> Row:
        """What the first line says."""
        return ()

    def status(self) -> Row:
        """What the last line says when there is no news."""
        return ()

    def sync_status(self) -> None:
        """Draw the last line."""
        self.lines("status").show([row(strong(self._said)) if self._said else self.status()])

    def sync_lines(self) -> None:
        """Draw the first line and the last, and what a terminal that is too small shows instead of all."""
        self.lines("small").show(small_rows(self.size.width))
        self.lines("tabs").show([self.tabs()])
        self.sync_status()

    def tell(self, title: str, page: Callable[[int], Sequence[Row]]) -> None:
        """Show what a page gives for a width in cells over everything else."""
        from tracelens.tui.views.dialog import TextDialog

        self.push_screen(TextDialog(f"{title} (Esc leaves)", page))

    def copy(self, text: str, what: str) -> None:
        """To the terminal's clipboard, and to a file for terminals that take none."""
        text = clipboard.harmless(text)
        sequence = clipboard.sequences(text, os.environ)
        if sequence and self._driver is not None:
            self._driver.write(sequence)
        path = clipboard.fallback(os.environ)
        failed = clipboard.save(text, path)
        kept = f"it is not in a file ({failed})" if failed else f"also in {path}"
        self.say(f"Copied {what}; {kept}." if sequence else f"{what.capitalize()} is too long to copy; {kept}.")

    def action_command_palette(self) -> None:
        """Find a command, a kernel or a time."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())

    def action_toggle_dark(self) -> None:
        """Dark to light, and back; plain colours stay plain."""
        base, _, ground = self.theme.rpartition("-")
        self.theme = f"{base}-{'light' if ground == 'dark' else 'dark'}"


def few_colors(environment: Mapping[str, str]) -> bool:
    """Whether the terminal has 16 colours or fewer, by what it says of itself."""
    if environment.get("TEXTUAL_COLOR_SYSTEM", "auto") != "auto":
        return environment["TEXTUAL_COLOR_SYSTEM"] == "standard"
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return False
    term = environment.get("TERM", "").strip().lower()
    return not any(word in term for word in ("256", "kitty", "direct", "ghostty", "alacritty"))


def small_rows(width: int) -> list[Row]:
    """What a terminal that is too small shows, in rows of `width` cells."""
    least = f"tracelens needs a terminal of {SMALLEST[0]}x{SMALLEST[1]} or more."
    return [*wrapped(least, width, Look.STRONG), *wrapped("Make it larger, or press q.", width)]
