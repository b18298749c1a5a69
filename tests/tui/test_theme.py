"""Colours tell classes apart on every ground, and never do so alone."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.color import Color
from textual.theme import Theme

from tracelens.tui.inks import CLASS_INKS, LABEL, MATCH, SELECTED, Ink, glyph
from tracelens.tui.theme import DARK, DEFAULTS, LIGHT, PLAIN, THEMES, looks, run_style

ACCENTS = ("primary", "accent", "success", "warning", "error")
TOGETHER = (
    tuple(CLASS_INKS.values()),
    (Ink.COMPUTE, Ink.COMMUNICATION, Ink.COPY),
    (Ink.CALL, Ink.WAIT),
    (Ink.OPERATOR, Ink.CALL, Ink.PYTHON),
)
"""Inks that are seen side by side."""


def luminance(color: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in Color.parse(color).normalized]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("inks", "ground"), [(DARK, "#121212"), (LIGHT, "#ffffff")])
def test_every_ink_stands_out_from_its_ground(inks: dict[Ink, str], ground: str) -> None:
    assert [ink for ink, color in inks.items() if contrast(color, ground) < 4.5] == []


@pytest.mark.parametrize("inks", [DARK, LIGHT, PLAIN])
def test_inks_that_are_seen_together_differ(inks: dict[Ink, str]) -> None:
    for group in TOGETHER:
        assert len({inks[ink] for ink in group}) == len(group)


def test_classes_differ_without_colour() -> None:
    for one, other in combinations(CLASS_INKS.values(), 2):
        assert glyph(one) != glyph(other)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_theme_has_every_ink(theme: Theme) -> None:
    assert {ink.variable for ink in Ink} <= set(DEFAULTS[theme.dark]) <= set(theme.variables)


def test_marks_show_without_colour() -> None:
    inks = looks({**DEFAULTS[True], **dict.fromkeys(ACCENTS, "#ffffff")})
    plain, label = run_style(Ink.COPY, inks), run_style(Ink.COPY + LABEL, inks)
    found, chosen = run_style(Ink.COPY + MATCH, inks), run_style(Ink.COPY + SELECTED, inks)
    distinct = {(style.reverse, style.bold, style.underline) for style in (plain, label, found, chosen)}
    assert len(distinct) == 4
