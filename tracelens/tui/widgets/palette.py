"""The styles of a widget's drawing under the app's theme."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from rich.style import Style
from textual.app import App
from textual.theme import Theme
from textual.widget import Widget

from tracelens.tui.inks import Ink
from tracelens.tui.rows import Look
from tracelens.tui.theme import looks

Styles = Mapping[Look | Ink, Style]
_KNOWN: Final[dict[str, Styles]] = {}


def app_of(widget: Widget) -> App[int]:
    """The app that a widget belongs to."""
    return cast("App[int]", widget.app)  # pyright: ignore[reportUnknownMemberType]


def styles_of(widget: Widget) -> Styles:
    """The style of each look and ink."""
    app = app_of(widget)
    if app.theme not in _KNOWN:
        _KNOWN[app.theme] = looks(app.theme_variables)
    return _KNOWN[app.theme]


def follow_theme(widget: Widget, restyle: Callable[[], object]) -> None:
    """Call `restyle` whenever the theme changes."""

    def changed(theme: Theme) -> None:
        restyle()

    app_of(widget).theme_changed_signal.subscribe(widget, changed)
