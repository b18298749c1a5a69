"""What the host would take without the profiler: a ratio to the traced time, gauged by the trace's launch calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.estimate import Estimate, spread
from tracelens.advice.forms.inputs import count_inputs
from tracelens.advice.step.outside import LONG
from tracelens.advice.step.region import Region
from tracelens.advice.terms import HOST
from tracelens.model.events import Floats


def host_scale(region: Region) -> Estimate:
    """Untraced over traced host time. Work outside PyTorch takes what it took in the trace, in which nothing of it is
    recorded."""
    scale, kept = within_scale(region), _kept(region)
    outside = outside_spread(region, kept * region.host)
    least, most = outside.low / max(region.host, 1.0), outside.high / max(region.host, 1.0)
    low, mid, high = ((1 - kept) * value for value in (scale.low, scale.mid, scale.high))
    return Estimate(mid + kept, low + least, high + most)


def untraced(region: Region) -> tuple[Region, Region, Region]:
    """The region on its host without the profiler: expected, at the least and at the most."""
    within, kept = within_scale(region), _kept(region) * region.host
    outside = outside_spread(region, kept)
    least, most = (outside.low / kept, outside.high / kept) if kept else (1.0, 1.0)
    slowest = _rescaled(region, within.high, most)
    return _rescaled(region, within.mid, 1.0), _rescaled(region, within.low, least), slowest


def _rescaled(region: Region, within: float, outside: float) -> Region:
    """The region where work within PyTorch takes `within` of the traced time, and that outside `outside`."""

    def scaled(times: Floats, before: Floats) -> Floats:
        before = np.minimum(before, times)
        return np.maximum.accumulate(within * (times - before) + outside * before)

    kept = _kept(region) * region.host
    return replace(
        region,
        issued=scaled(region.issued, region.outside_issued),
        wait_at=scaled(region.wait_at, region.outside_waited),
        host=within * (region.host - kept) + outside * kept,
    )


def within_scale(region: Region) -> Estimate:
    """Untraced over traced host time of work within PyTorch.

    Profiling takes time to record each operator, and slows all else; how much, a single trace does not show. The
    median launch call, one piece of code on every host, shows how fast this host is: scale = ratio x
    (reference / median call) ** power x share of the time that is left without the records."""
    ratio = C.TRAINING_HOST if region.training else C.INFERENCE_HOST
    return spread(ratio * call_gauge(region) * unrecorded(region), C.HOST_SPREAD)


def _kept(region: Region) -> float:
    """Share of the traced host time in work outside PyTorch."""
    return min(region.outside.idle / max(region.host, 1.0), 1.0)


def unrecorded(region: Region) -> float:
    """Share of the traced host time within PyTorch that is left without the records of its operators."""
    within = max((1 - _kept(region)) * region.host, 1.0)
    return max(1 - records(region, region.operators) / within, C.LEAST_UNRECORDED)


def records(region: Region, operators: float) -> float:
    """Ns that this host takes to record so many operators."""
    return C.OPERATOR_RECORD * operators * _call(region) / C.REFERENCE_CALL


def with_outside(inside: Estimate, region: Region) -> Estimate:
    """A step whose host works outside as well, in every form: a data loader, the allocator, long work of no operator.

    Right after a wait the device idles meanwhile, else it works on. There is nothing to record in such work, so that it
    takes as long without the profiler."""
    outside = outside_beside(region)
    told = inside.at_least(HOST, floor_ns=replay_floor(region), outside_ns=outside) if outside else inside
    most = replay_floor(region) + outside_spread(region, outside).high
    return after_waits(replace(told, high=max(told.high, most)) if outside else told, region)


def outside_beside(region: Region) -> float:
    """Host time in ns of work outside while the device works on, or would if it had more to do."""
    outside = region.outside
    return outside.idle - outside.apart + min(within_scale(region).mid, 1.0) * outside.covered


def after_waits(inside: Estimate, region: Region) -> Estimate:
    """A step whose device idles while the host works outside after a wait, and may where that is unclear."""
    traced, unclear = region.outside.apart, region.outside.unclear
    if unclear:
        inside = replace(inside, high=inside.high + unclear).told("{}", unclear_ns=unclear)
    return inside + outside_spread(region, traced).told("apart_ns", apart_ns=traced) if traced else inside


def outside_spread(region: Region, traced: float) -> Estimate:
    """Ns of so much traced work outside, of which a stretch of LONG may be dispatch. Processes that run the same code
    take longer or shorter for the rest."""
    dispatch = min(traced, LONG)
    low, high = (factor * (traced - dispatch) for factor in C.OUTSIDE_SPREAD)
    return Estimate(traced, min(within_scale(region).low, 1.0) * dispatch + low, dispatch + high)


def outside_slack(region: Region) -> float:
    """Ns by which work outside, that of a step as it ran, may take longer in another process."""
    return outside_spread(region, region.outside.idle).high - region.outside.idle


def replay_floor(region: Region, branched: int = 0) -> float:
    """Host time in ns of one replay, which launches as often as two operators: a copy of an input, the graph. Further
    inputs are copied as well, and a graph of several streams takes longer to launch by each of its `branched` nodes, as
    long as this host's calls tell."""
    low, high = C.REPLAY_FLOOR
    least = min(max(2 * within_scale(region).mid * region.host / max(len(region), 1), low), high)
    further = C.INPUT_LAUNCH * (count_inputs(region) - 1)
    return least + further + C.BRANCHED_NODE * branched / launch_gauge(region)


def at_floor(replayed: Estimate, region: Region, branched: int = 0) -> Estimate:
    """A replayed step that takes no less than its host. How long that is, launches under the profiler tell loosely:
    guards and recorded stacks slow them, not the replay, so the range begins where the least host would."""
    told, least = (
        replayed.at_least(HOST, floor_ns=replay_floor(region, branched)),
        replayed.at_least(HOST, least=C.REPLAY_FLOOR[0]),
    )
    return replace(told, low=least.low)


def as_compiled(region: Region) -> Region:
    """The region of a compiled step, whose host the profiler slows less."""
    ratio = C.TRAINING_HOST if region.training else C.INFERENCE_HOST
    return replace(region, speed=region.speed * C.COMPILED_HOST / ratio, operators=0.0)


def call_gauge(region: Region) -> float:
    """Time that the average host of the calibration takes over the traced one's, corrected by a measurement."""
    return region.speed * _gauge(region)


def launch_gauge(region: Region) -> float:
    """Time that the average host of the calibration takes over the traced one's, by the trace's launch calls alone: 1
    where the device keeps the host waiting. What slows calls there slows the other traced host work as well, but not
    work that the trace does not show. [H200, 20 compiled training steps: mean error 9 %, 13 % with the gauge]"""
    return _gauge(region) if _waited_for(region) else 1.0


def _gauge(region: Region) -> float:
    """That time by the median launch call, wherever it was."""
    return float((C.REFERENCE_CALL / _call(region)) ** C.GAUGE_POWER)


def _waited_for(region: Region) -> bool:
    """Whether the device waits for the host in most of the traced step."""
    return region.busy < C.WAITED_FOR * region.recorded


def slowness(region: Region) -> float:
    """How many times as slow as the slowest host of the calibration this one is. Launch calls tell it where the device
    waits for them; where it does not, they may wait for a full queue."""
    return max(region.call / C.CALL_RANGE[1], 1.0) if _waited_for(region) else 1.0


def _call(region: Region) -> float:
    """The median launch call in ns where it shows the host's speed, else the nearest that would."""
    low, high = C.CALL_RANGE
    return min(max(region.call, low), high)
