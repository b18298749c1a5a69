"""How often a step has something, as people say it."""

from __future__ import annotations

from typing import Final

from tracelens.analysis.results import Analysis
from tracelens.model.events import Int64s
from tracelens.model.units import counted

STRETCHES: Final = frozenset({"whole", "range"})
"""Windows that are no step, or that nobody knows to be one."""


def a_step(analysis: Analysis) -> str:
    """What a count of one step is of: "a step", "a unit" where that repeats and may be no step, or "in this stretch"
    where the window is none."""
    if analysis.window.kind in STRETCHES:
        return "in this stretch"
    return "a unit" if analysis.window.kind == "period" else "a step"


def often(counts: Int64s, noun: str, of: str = "", each: str = "a step") -> str:
    """ "2 waits for the device a step", "about 3 ... a step", "1 wait for the device in about 1 of 4 steps".

    counts: how many each step has; of: what follows the noun; each: as `a_step` has it."""
    mean, steps = float(counts.mean()), len(counts)
    if mean >= 1:
        about = "" if mean == round(mean) else "about "
        return f"{about}{counted(round(mean), noun)}{of} {each}"
    having = int((counts > 0).sum())
    return f"{counted(int(counts.max()), noun)}{of} in {_among(having, steps)}"


def _among(having: int, steps: int) -> str:
    """Of few steps all are named, of many one in so many."""
    if steps <= 10:
        return f"{having} of {counted(steps, 'step')}"
    return f"about 1 of {max(round(steps / having), 2)} steps"
