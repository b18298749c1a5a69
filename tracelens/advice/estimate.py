"""A predicted time with its range, in ns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import erf, exp, log, sqrt

from tracelens.advice.results import Blocker, Form
from tracelens.advice.terms import Terms
from tracelens.model.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected time and what it may as well be; low <= mid <= high."""

    mid: float
    low: float
    high: float
    terms: Terms = field(default=Terms(), compare=False)
    """What mid is made of."""

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.mid + other.mid, self.low + other.low, self.high + other.high, self.terms + other.terms)

    def told(self, formula: str, by: str = "", **values: float) -> Estimate:
        """The same with what it is made of; "{}" stands for the formula so far."""
        return replace(self, terms=self.terms.told(formula, by, **values))

    def at_least(self, by: str, **terms: float) -> Estimate:
        """The same where no time is below the sum of the terms, which decide it `by` that name where mid was."""
        floor = sum(terms.values())
        told = self.terms.told(f"max({{}}, {' + '.join(terms)})", by if floor > self.mid else "", **terms)
        return Estimate(max(self.mid, floor), max(self.low, floor * 0.8), max(self.high, floor * 1.3), told)

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


def slower_of(host: float, device: float, sigma: float) -> float:
    """Expected maximum of a host time, lognormal with median `host`, and a device time."""
    if host <= 0 or device <= 0:
        return max(host, device)
    reach = log(device / host) / sigma
    below = _normal(reach)
    mean = host * exp(sigma * sigma / 2)
    return device * below + mean * (1 - _normal(reach - sigma))


def _normal(x: float) -> float:
    return 0.5 * (1 + erf(x / sqrt(2)))
