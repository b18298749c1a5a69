"""A predicted time with its range, in ns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import erf, exp, log, sqrt
from typing import Final

from tracelens.advice.results import Blocker, Form
from tracelens.advice.terms import Terms
from tracelens.model.units import NS_PER_MS

FLOOR_SPREAD: Final = (0.8, 1.3)
"""Range of what no time is below around its estimate. [judgement]"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected time and what it may as well be; low <= mid <= high, as a range that leaves mid out is stretched to it.

    Schedules at three speeds need not be in order: a slower host comes later to its wait, and waits less."""

    mid: float
    low: float
    high: float
    terms: Terms = field(default=Terms(), compare=False)
    """What mid is made of."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", min(self.low, self.mid))
        object.__setattr__(self, "high", max(self.high, self.mid))

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.mid + other.mid, self.low + other.low, self.high + other.high, self.terms + other.terms)

    def told(self, formula: str, by: str = "", **values: float) -> Estimate:
        """The same with what it is made of; "{}" stands for the formula so far."""
        return replace(self, terms=self.terms.told(formula, by, **values))

    def at_least(self, by: str, **terms: float) -> Estimate:
        """The same where no time is below the sum of the terms, which decide it `by` that name where mid was."""
        floor = sum(terms.values())
        told = self.terms.told(f"max({{}}, {' + '.join(terms)})", by if floor > self.mid else "", **terms)
        low, high = (floor * factor for factor in FLOOR_SPREAD)
        return Estimate(max(self.mid, floor), max(self.low, low), max(self.high, high), told)

    def at_most(self, bound: float, slack: float = 1.0) -> Estimate:
        """The same with mid <= bound, the low end as far below it as before, and high <= slack x bound."""
        shrunk = min(bound / self.mid, 1.0) if self.mid else 1.0
        return Estimate(min(self.mid, bound), shrunk * self.low, min(self.high, slack * bound), self.terms)

    def widened(self, factor: float) -> Estimate:
        """The same mid with both ends moved away by a factor."""
        return replace(self, low=self.low / factor, high=self.high * factor)

    def form(self, variant: str | None = None, blockers: tuple[Blocker, ...] = ()) -> Form:
        """As a predicted form, in ms."""
        mid, low, high = (value / NS_PER_MS for value in (self.mid, self.low, self.high))
        return Form(mid, low, high, "predicted", variant=variant, blockers=blockers, terms=self.terms)


def spread(mid: float, factors: tuple[float, float]) -> Estimate:
    """A time whose range is given by two factors."""
    return Estimate(mid, mid * factors[0], mid * factors[1])


def either(first: Estimate, second: Estimate, share: float) -> Estimate:
    """A time that is one of two, the second as likely as `share` says: expected between them, in a range of both."""
    low, high = min(first.low, second.low), max(first.high, second.high)
    if share in (0, 1):
        return replace(second if share else first, low=low, high=high)
    values = {**first.terms.values, **second.terms.values}
    formula = f"(1 - left_to_eager) * ({first.terms.formula}) + left_to_eager * ({second.terms.formula})"
    by = (second if share > 0.5 else first).terms.decided_by
    mid = (1 - share) * first.mid + share * second.mid
    return Estimate(mid, low, high, Terms().told(formula, by, **values, left_to_eager=share))


def slower_of(host: float, device: float, sigma: float) -> float:
    """Expected maximum of a host time and a device time, in one unit.

    The host's is lognormal: `host` is its median, sigma the standard deviation of its logarithm. [partial expectation
    of a lognormal distribution]"""
    if host <= 0 or device <= 0:
        return max(host, device)
    reach = log(device / host) / sigma
    below = _normal(reach)
    mean = host * exp(sigma * sigma / 2)
    return device * below + mean * (1 - _normal(reach - sigma))


def _normal(x: float) -> float:
    """Cumulative standard normal distribution."""
    return 0.5 * (1 + erf(x / sqrt(2)))
