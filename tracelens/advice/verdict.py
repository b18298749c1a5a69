"""Which form to use, from the forms alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import erf, log, sqrt
from typing import Final

from tracelens.advice import constants as C
from tracelens.advice.results import Form, Range

COMPLEXITY: Final = {"eager": 0, "compile": 1, "replay": 1, "both": 2}
"""How much there is to maintain."""
TOLERANCE: Final = 0.05
"""A choice this close to the best is as good as right."""
RANGE_SIGMAS: Final = 3.0
"""Standard deviations of a time's logarithm from low to high. [ranges hold about 87 % of measured times]"""


def choose(forms: Mapping[str, Form], now: str = "eager") -> str:
    """The simplest form within the needless margin of the fastest; `now`, the form in use, counts as simplest.

    Among equally simple ones the faster. `now` when nothing can run. A form that computes something else than eager
    is never chosen."""
    times = {name: form.step_ms for name, form in candidates(forms, now).items() if form.step_ms is not None}
    if not times:
        return now
    bound = (1 + C.NEEDLESS) * min(times.values())
    enough = [name for name in times if times[name] <= bound]
    return min(enough, key=lambda name: (name != now, COMPLEXITY[name], times[name]))


def candidates(forms: Mapping[str, Form], now: str = "eager") -> dict[str, Form]:
    """The forms that can run and, `now` aside, are not known to give other outputs."""
    return {
        name: form
        for name, form in forms.items()
        if form.step_ms is not None and (name == now or form.outputs != "differ")
    }


def verdict_of(chosen: str, now: str = "eager") -> str:
    """The document's word for a chosen form: to stay with the form in use, or with eager, is "neither"."""
    return "neither" if chosen in (now, "eager") else chosen


def speedup(forms: Mapping[str, Form], chosen: str, base: str = "eager") -> Range | None:
    """Of the chosen form over the base; the range pairs opposite ends."""
    first, second = forms[base], forms[chosen]
    if first.step_ms is None or second.step_ms is None:
        return None
    if chosen == base:
        return Range(1.0, 1.0, 1.0)
    mid = first.step_ms / second.step_ms
    low = (first.low or first.step_ms) / (second.high or second.step_ms)
    high = (first.high or first.step_ms) / (second.low or second.step_ms)
    return Range(mid, min(low, mid), max(high, mid))


def confidence(forms: Mapping[str, Form], chosen: str) -> float:
    """Least probability, against each other form, that the chosen one is within 5 % of it or faster.

    Times are taken as independent and lognormal with the ranges' widths."""
    own = forms[chosen]
    others = [form for name, form in candidates(forms, chosen).items() if name != chosen]
    return min((_no_worse(own, other) for other in others), default=0.5 if own.step_ms is None else 0.95)


def _no_worse(own: Form, other: Form) -> float:
    if not own.step_ms or not other.step_ms:
        return 0.5
    lead = log((1 + TOLERANCE) * other.step_ms / own.step_ms)
    sigma = sqrt(_sigma(own) ** 2 + _sigma(other) ** 2)
    return 0.5 * (1 + erf(lead / (sigma * sqrt(2))))


def _sigma(form: Form) -> float:
    if not form.low or not form.high:
        return 0.1
    return max(log(form.high / form.low) / RANGE_SIGMAS, 0.01)
