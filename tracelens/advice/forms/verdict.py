"""Which form to use, from the forms alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import erf, hypot, inf, log, sqrt
from typing import Final

from tracelens.advice import constants as C
from tracelens.advice.results import Form, Range

COMPLEXITY: Final = {"eager": 0, "compile": 1, "replay": 1, "both": 2}
"""How much there is to maintain."""
TOLERANCE: Final = 0.05
"""A choice this close to the best is as good as right."""
LAUNCHED: Final = ("eager", "compile")
"""The forms in which the host launches each kernel."""
EVEN: Final = 0.5
"""Confidence below which a verdict is its best guess and decides nothing. [more likely wrong than right]"""
HOST_BOUND: Final = 1.2
"""A step this much longer than its device work is one of the host. [judgement]"""
PROCESS_SIGMA: Final = 0.2
"""Of such a step's time, from one process to the next of the same code. [H200: 14 steps, 31 processes]"""
SHARED: Final = 0.3
"""Of what their ranges allow, by how much two predicted forms differ otherwise than predicted, where the device sets
both and they are within the tolerance: what is wrong with one is wrong with both. [H200: 83 pairs, rms 0.30; 30 pairs
of which the host sets one, 0.66, are left independent]"""
RANGE_SIGMAS: Final = 3.0
"""Standard deviations of a time's logarithm from low to high. [ranges hold about 91 % of the measured times that the
constants were set on, fewer of those of steps not seen before: how many, the README counts under Accuracy]"""


def choose(forms: Mapping[str, Form], now: str = "eager") -> str:
    """The simplest form within the needless margin of the fastest; `now`, the form in use, counts as simplest.

    Among equally simple ones the faster. `now` when nothing can run. A form that computes something else than eager,
    or that the compiler did nothing for, is never chosen."""
    times = {name: form.step_ms for name, form in candidates(forms, now).items() if form.step_ms is not None}
    if not times:
        return now
    best = min(times, key=lambda name: times[name])
    enough = [name for name in times if times[name] <= (1 + _margin(name, forms[best], best)) * times[best]]
    return min(enough, key=lambda name: (name != now, COMPLEXITY[name], times[name]))


def _margin(name: str, best: Form, of: str) -> float:
    """Share of the best time by which a form may be longer than that and still be enough."""
    fused = name == "replay" and of == "both" and best.source == "predicted"
    return C.FUSED_NEEDLESS if fused else C.NEEDLESS


def candidates(forms: Mapping[str, Form], now: str = "eager") -> dict[str, Form]:
    """The forms that can run and, `now` aside, are not known to give other outputs or to be eager under a new name."""
    return {
        name: form
        for name, form in forms.items()
        if form.step_ms is not None and (name == now or not (form.outputs == "differ" or form.did_nothing))
    }


def in_question(forms: Mapping[str, Form], now: str = "eager") -> tuple[str, ...]:
    """The forms that may be the fastest, the fastest first: at best they take no longer than any other at worst."""
    known = {name: form for name, form in candidates(forms, now).items() if form.step_ms is not None}
    worst = min((form.high or inf for form in known.values()), default=inf)
    ranked = sorted(known, key=lambda name: known[name].step_ms or 0.0)
    return tuple(name for name in ranked if (known[name].low or 0.0) <= worst)


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


def confidence(forms: Mapping[str, Form], chosen: str, device_ms: float = inf) -> float:
    """Least probability, against each other form, that the chosen one is within 5 % of it or faster, as far as the
    ranges hold what they say; of steps not seen before they hold less.

    So of a form that is kept it is the probability that no other saves more than that; even where nothing is known of
    the others. Times are taken as lognormal
    with the ranges' widths, and as independent unless the device's own work sets them alike; measured ones that the
    host sets, those well over the device's own time a step, differ from one process to the next as well."""
    own = forms[chosen]
    others = {name: form for name, form in candidates(forms, chosen).items() if name != chosen}
    sigma = _sigma(own, chosen, device_ms)
    apart = {name: hypot(sigma, _sigma(form, name, device_ms)) for name, form in others.items()}
    odds = (
        _no_worse(own, form, apart[name] * (SHARED if _is_same_work(own, form, device_ms) else 1.0))
        for name, form in others.items()
    )
    return min(odds, default=0.5 if own.step_ms is None or shows_one(forms, chosen) else 0.95)


def is_decided(forms: Mapping[str, Form], now: str, sure: float) -> bool:
    """Whether the verdict is more than a guess: at least as likely right as wrong, or all forms in question are
    measured; and that there is another one to compare with, unless none of the others can be of use."""
    if shows_one(forms, now):
        return False
    return sure >= EVEN or all(form.source == "measured" for form in candidates(forms, now).values())


def shows_one(forms: Mapping[str, Form], now: str) -> bool:
    """Whether no form but the one in use is known and some of the others may be better. [H200: of 6 such steps, all of
    them compiled and replayed, 3 were within the tolerance of their best form]"""
    return set(candidates(forms, now)) <= {now} and any(form.is_unknown for form in forms.values())


def _is_same_work(own: Form, other: Form, device_ms: float) -> bool:
    """Whether both are predicted as the device's own work and little else."""
    if not own.step_ms or not other.step_ms or "measured" in (own.source, other.source):
        return False
    slow, fast = max(own.step_ms, other.step_ms), min(own.step_ms, other.step_ms)
    return slow <= HOST_BOUND * device_ms and slow <= (1 + TOLERANCE) * fast


def gains_nothing(own: Range, others: Iterable[Range], device_ms: float) -> bool:
    """Whether the device's own work sets all these times, so that what is wrong with one is wrong with all, and no
    other one is at best shorter than this one at best by more than the tolerance. Times in ms. [H200: in none of 85
    pairs of steps that were advised to stay did the other form save more]"""
    known = list(others)
    slow = max((form.mid for form in known), default=inf)
    at_best = min((form.low for form in known), default=0.0)
    return max(slow, own.mid) <= HOST_BOUND * device_ms and (1 + TOLERANCE) * at_best >= own.low


def _no_worse(own: Form, other: Form, sigma: float) -> float:
    if not own.step_ms or not other.step_ms:
        return 0.5
    lead = log((1 + TOLERANCE) * other.step_ms / own.step_ms)
    return 0.5 * (1 + erf(lead / (sigma * sqrt(2))))


def _sigma(form: Form, name: str, device_ms: float) -> float:
    """Standard deviation of the logarithm of a form's time."""
    if not form.low or not form.high:
        return 0.1
    of_host = form.source == "measured" and name in LAUNCHED and form.low > HOST_BOUND * device_ms
    return max(log(form.high / form.low) / RANGE_SIGMAS, PROCESS_SIGMA if of_host else 0.01)
