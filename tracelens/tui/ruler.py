"""The ruler over a timeline: times at round steps."""

from __future__ import annotations

from tracelens.tui.viewport import Viewport

SCALES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
NARROWEST = 14
"""Columns between two times."""


def ruler(view: Viewport) -> str:
    """One line of text, as wide as the viewport."""
    step = _round_up(view.span * NARROWEST // view.columns)
    cells = [" "] * view.columns
    first = -(-view.start // step) * step
    for ns in range(first, view.end, step):
        label, at = f"╷{time_label(ns, step)}", view.column(ns)
        if at + len(label) <= view.columns:
            cells[at : at + len(label)] = label
    return "".join(cells)


def time_label(ns: int, step: int) -> str:
    """A time with the decimals that tell it from its neighbours a step away."""
    scale, unit = next(((scale, unit) for scale, unit in SCALES if abs(ns) >= scale), SCALES[-1])
    decimals = max(len(str(scale)) - len(str(step)), 0)
    return f"{ns / scale:,.{decimals}f} {unit}" if ns else "0"


def _round_up(ns: int) -> int:
    """The next 1, 2 or 5 with zeros."""
    power = 10 ** (len(str(max(ns, 1))) - 1)
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= ns)
