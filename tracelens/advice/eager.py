"""The eager step without the profiler."""

from __future__ import annotations

from tracelens.advice import constants as C
from tracelens.advice.estimate import Estimate
from tracelens.advice.facts import Facts
from tracelens.advice.host_time import host_scale
from tracelens.advice.schedule import eager_period


def predict_eager(facts: Facts) -> Estimate:
    """Time of the repeated step: launches at the host's own speed, device work as traced."""
    region, host, device = facts.region, host_scale(facts.region), facts.sustained
    overlap = facts.span(C.STREAM_SPACING, C.STREAM_SPACING).overlap
    return Estimate(
        eager_period(region, overlap, host.mid, device.mid),
        eager_period(region, overlap, host.low, device.low),
        eager_period(region, overlap, host.high, device.high),
    )
