"""What the host would take without the profiler: a ratio to the traced time, gauged by the trace's launch calls."""

from __future__ import annotations

from dataclasses import replace

from tracelens.advice import constants as C
from tracelens.advice.estimate import Estimate, spread
from tracelens.advice.region import Region


def host_scale(region: Region) -> Estimate:
    """Untraced over traced host time.

    Profiling slows every operator and call; how much, a single trace does not show. The median launch call, one
    piece of code on every host, shows how fast this host is: scale = ratio x (reference / median call) ** power."""
    ratio = C.TRAINING_HOST if region.training else C.INFERENCE_HOST
    return spread(ratio * call_gauge(region), C.HOST_SPREAD)


def outside_time(region: Region) -> float:
    """Host time in ns that every form of the step has: a data loader's, the allocator's, and that of long work without
    operators. Profiling never shortens it."""
    return min(host_scale(region).mid, 1.0) * region.outside


def with_outside(inside: Estimate, region: Region) -> Estimate:
    """A step whose host works outside as well: after a wait the device idles meanwhile, else it works on."""
    outside = outside_time(region)
    if len(region.waits):
        return inside + Estimate(outside, outside, outside)
    return inside.at_least(C.REPLAY_FLOOR + outside) if outside else inside


def as_compiled(region: Region) -> Region:
    """The region of a compiled step, whose host the profiler slows less."""
    ratio = C.TRAINING_HOST if region.training else C.INFERENCE_HOST
    return replace(region, speed=region.speed * C.COMPILED_HOST / ratio)


def call_gauge(region: Region) -> float:
    """Time that the average host of the calibration takes over the traced one's, corrected by a measurement."""
    low, high = C.CALL_RANGE
    return region.speed * (C.REFERENCE_CALL / min(max(region.call, low), high)) ** C.GAUGE_POWER
