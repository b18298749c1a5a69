"""Colours: the Okabe-Ito set adapted to dark and light grounds, and to the 16 colours of plain terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tracelens.tui.inks import LABEL, MATCH, SELECTED, Ink, ink_of
from tracelens.tui.rows import Look

DARK: Final = {
    Ink.COMPUTE: "#12a97e",
    Ink.COMMUNICATION: "#cc79a7",
    Ink.COPY: "#f0e442",
    Ink.OPERATOR: "#56b4e9",
    Ink.CALL: "#4c94d8",
    Ink.WAIT: "#e5672a",
    Ink.PYTHON: "#a8a8a8",
    Ink.ANNOTATION: "#d8d8d8",
    Ink.KERNEL: "#12a97e",
    Ink.DISPATCH: "#e69f00",
    Ink.LAUNCH: "#56b4e9",
    Ink.SYNC: "#e5672a",
    Ink.DEVICE: "#cc79a7",
    Ink.UNKNOWN: "#999999",
}
LIGHT: Final = {
    Ink.COMPUTE: "#007a58",
    Ink.COMMUNICATION: "#a04a78",
    Ink.COPY: "#7d6f00",
    Ink.OPERATOR: "#1d75a8",
    Ink.CALL: "#0060a0",
    Ink.WAIT: "#b34b00",
    Ink.PYTHON: "#666666",
    Ink.ANNOTATION: "#404040",
    Ink.KERNEL: "#007a58",
    Ink.DISPATCH: "#946000",
    Ink.LAUNCH: "#1d75a8",
    Ink.SYNC: "#b34b00",
    Ink.DEVICE: "#a04a78",
    Ink.UNKNOWN: "#6b6b6b",
}
PLAIN: Final = {
    Ink.COMPUTE: "ansi_green",
    Ink.COMMUNICATION: "ansi_magenta",
    Ink.COPY: "ansi_yellow",
    Ink.OPERATOR: "ansi_cyan",
    Ink.CALL: "ansi_blue",
    Ink.WAIT: "ansi_red",
    Ink.PYTHON: "ansi_default",
    Ink.ANNOTATION: "ansi_default",
    Ink.KERNEL: "ansi_green",
    Ink.DISPATCH: "ansi_yellow",
    Ink.LAUNCH: "ansi_cyan",
    Ink.SYNC: "ansi_red",
    Ink.DEVICE: "ansi_magenta",
    Ink.UNKNOWN: "ansi_default",
}
"""Chosen by hand: the nearest of 16 colours would show orange as vermillion and green as blue."""


def _variables(inks: Mapping[Ink, str]) -> dict[str, str]:
    return {ink.variable: color for ink, color in inks.items()}


def _full(name: str, inks: Mapping[Ink, str], *, dark: bool) -> Theme:
    ground, text, panel = ("#121212", "#e0e0e0", "#1c1c1c") if dark else ("#ffffff", "#202020", "#f0f0f0")
    return Theme(
        name=name,
        dark=dark,
        primary=inks[Ink.CALL],
        secondary=inks[Ink.COMMUNICATION],
        accent=inks[Ink.DISPATCH],
        warning=inks[Ink.DISPATCH],
        error=inks[Ink.WAIT],
        success=inks[Ink.COMPUTE],
        foreground=text,
        background=ground,
        surface=ground,
        panel=panel,
        variables={**_variables(inks), "quiet": "#909090" if dark else "#6b6b6b"},
    )


def _sixteen(name: str, *, dark: bool) -> Theme:
    basis = BUILTIN_THEMES["ansi-dark" if dark else "ansi-light"]
    return Theme(
        name=name,
        dark=dark,
        ansi=True,
        primary="ansi_blue",
        secondary="ansi_magenta",
        accent="ansi_yellow",
        warning="ansi_yellow",
        error="ansi_red",
        success="ansi_green",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables={**basis.variables, **_variables(PLAIN), "quiet": "ansi_default"},
    )


THEMES: Final = (
    _full("tracelens-dark", DARK, dark=True),
    _full("tracelens-light", LIGHT, dark=False),
    _sixteen("tracelens-plain-dark", dark=True),
    _sixteen("tracelens-plain-light", dark=False),
)
DEFAULTS: Final = {True: dict(THEMES[0].variables), False: dict(THEMES[1].variables)}
"""Variables for themes that are not ours, by whether they are dark."""


def run_style(code: int, inks: Mapping[Look | Ink, Style]) -> Style:
    """The style of one run of a painted line: names lie on their colour, what was found is underlined."""
    style = inks[ink_of(code)]
    if code & SELECTED:
        return Style(bold=True, reverse=True, underline=bool(code & MATCH))
    if code & MATCH:
        return style + Style(bold=True, underline=True, reverse=bool(code & LABEL))
    return style + Style(reverse=True) if code & LABEL else style


def looks(variables: Mapping[str, str]) -> dict[Look | Ink, Style]:
    """The style of each look and ink under the theme whose variables are given."""
    plain = Color.parse(variables["quiet"]).ansi is not None
    accents = {Look.HEAD: "primary", Look.KEY: "accent", Look.GOOD: "success", Look.WARN: "warning", Look.BAD: "error"}
    inks = {ink: ink.variable for ink in Ink}
    return {
        Look.PLAIN: Style(),
        Look.STRONG: Style(bold=True),
        Look.QUIET: Style(dim=True) if plain else Style(color=_color(variables["quiet"])),
        Look.CURSOR: Style(reverse=True),
        **{look: Style(color=_color(variables[name]), bold=True) for look, name in accents.items()},
        **{ink: Style(color=_color(variables[name])) for ink, name in inks.items()},
    }


def _color(text: str) -> RichColor:
    return Color.parse(text).rich_color
