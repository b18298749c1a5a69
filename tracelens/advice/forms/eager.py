"""The eager step without the profiler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.facts import Facts
from tracelens.advice.device.schedule import busy_alone, eager_period, queued
from tracelens.advice.estimate import Estimate
from tracelens.advice.forms.host_time import untraced
from tracelens.advice.step.region import Region
from tracelens.advice.terms import DEVICE, slower
from tracelens.analysis.kinds import is_communication


def predict_eager(facts: Facts) -> Estimate:
    """Time of the repeated step: launches at the host's own speed, device work as traced."""
    region, device = facts.region, facts.sustained
    overlap, (host, fast, slow) = facts.span(C.STREAM_SPACING).overlap, untraced(facts.region)
    period = Estimate(
        eager_period(host, overlap, 1.0, device.mid),
        eager_period(fast, overlap, 1.0, device.low),
        eager_period(slow, overlap, 1.0, device.high),
    )
    own, work = host.host, float(queued(region, overlap, device.mid).sum())
    waiting = period.mid - max(own, work)
    formula = "max(host_ns, device_ns) + waiting_ns"
    launched = float(region.duration.sum())
    values = {"host_ns": own, "device_ns": work, "waiting_ns": waiting, "launched_ns": launched}
    values |= {"clocks": device.mid} if device.mid > 1 else {}
    return period.told(formula, slower(own, work), **values)


def as_recorded(facts: Facts, own: Estimate, between: float = C.BETWEEN_RUNS, further: float = 0.0) -> Estimate:
    """The time of the trace's own form, no slower than it was traced, as profiling only ever slows a step; but no
    faster than its busiest stream works, as other work may run in a range than it launches. Nor is a step with
    collectives shorter than the device was busy: how they overlap with other work, other ranks set and no faster host.

    The range begins no lower than what its kernels took one after the other. Its end leaves room for how much runs
    differ (`between`, and `further` ns), and for the power limit that a few traced steps do not meet, where matrix work
    can reach it.
    Where half of the steps are longer than their work explains, it holds the mean of each half."""
    limit = facts.sustained
    slack = limit.high / limit.mid if limit.high > C.DEVICE_SPREAD[1] else between
    recorded = limit.mid * max(facts.region.recorded, _busiest(facts.region))
    bounded = own.at_most(recorded, slack + further / max(recorded, 1.0))
    known = _no_shorter(bounded, limit.low * facts.span(0.0).least)
    known = _reaching(facts.region.halves, known)
    if recorded < own.mid:
        return known.told("min({}, recorded_ns)", "as_recorded", recorded_ns=recorded)
    return _beside_collectives(facts, known, recorded)


def _beside_collectives(facts: Facts, known: Estimate, recorded: float) -> Estimate:
    """The time of a step with collectives, no shorter than the device was busy with its work. [H200, 1 step of streams
    without any takes 12 % less than that]"""
    busy = min(facts.sustained.mid * min(busy_alone(facts.region), facts.region.busy), recorded)
    if busy <= known.mid or not is_communication(facts.region.trace, facts.region.work).any():
        return known
    return replace(known, mid=busy, high=max(known.high, busy)).told("max({}, busy_ns)", DEVICE, busy_ns=busy)


def _busiest(region: Region) -> float:
    """Ns of device work on the stream that works longest."""
    of = np.unique(region.stream, return_inverse=True)[1]
    return float(np.bincount(of, region.duration).max(initial=0.0))


def _no_shorter(known: Estimate, least: float) -> Estimate:
    """The same mid with a range that begins no lower than at so many ns, if mid is not below."""
    return replace(known, low=max(known.low, min(least, known.mid)))


def _reaching(ends: tuple[float, float] | None, known: Estimate) -> Estimate:
    """The same mid with a range that holds both ends, if there are any."""
    return replace(known, low=min(known.low, ends[0]), high=max(known.high, ends[1])) if ends else known
