"""Whether kernels run about as fast as the device moves their bytes.

A slice of a device, one that is throttled or shared with others, and times that are none of the kernel's own show by
kernels that take many times as long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.bandwidth import part_of, traffic
from tracelens.advice.device.facts import Facts
from tracelens.advice.device.likeness import WHOLE, is_calibrated
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators.roles import Role
from tracelens.model.events import Floats
from tracelens.model.units import percent

SHORT: Final = 5
"""Percentile of the times of pointwise kernels that is a short one's: single times may be wrong. [judgement]"""


def shortest(facts: Facts) -> float:
    """What a pointwise kernel takes without its traffic, in ns: measured on the calibrated device; elsewhere the
    time of a short one of those that move hardly anything, which says nothing of the bandwidth."""
    if C.CALIBRATED in facts.region.device.name:
        return C.SHORTEST_POINTWISE
    tiny = (facts.operators.role == Role.POINTWISE) & facts.operators.sized
    tiny &= traffic(facts.operators) < C.SHORTEST_POINTWISE * facts.bandwidth.rate
    least = float(np.percentile(facts.region.duration[tiny], SHORT)) if tiny.any() else 0.0
    return max(C.SHORTEST_POINTWISE, least)


def slowdown(facts: Facts) -> float:
    """How many times as long as a start and their traffic take pointwise kernels run, but for the fastest quarter; 1
    where the constants were measured on such a device and that is nothing out of the ordinary."""
    pointwise = (facts.operators.role == Role.POINTWISE) & facts.operators.sized
    if pointwise.sum() < C.FEWEST_POINTWISE:
        return 1.0
    most = float(np.percentile(_over(facts, shortest(facts))[pointwise], 25))
    return most if most >= (C.SLOW if is_calibrated(facts.region.device) else 1.0) else 1.0


def unexplained_ns(facts: Facts) -> float:
    """Time of kernels to be fused that take far longer than that, where these are much of the device's: 0 elsewhere."""
    over = _over(facts, C.SHORTEST_POINTWISE)
    slow = facts.fusable & facts.operators.sized & (over > C.UNEXPLAINED * slowdown(facts))
    time, every = float(facts.region.duration[slow].sum()), float(facts.region.duration.sum())
    return time if time > C.MOST_UNEXPLAINED * every else 0.0


def with_unexplained(fused: Estimate, facts: Facts) -> Estimate:
    """The time of a form with fused kernels, which may keep what no traffic explains."""
    return replace(fused, high=fused.high + unexplained_ns(facts))


def slow_kernels(facts: Facts) -> tuple[str, ...]:
    """The slowdown in words; () where there is none."""
    slow, device = slowdown(facts), facts.region.device.name or "the device"
    told = f"pointwise kernels that take {slow:.1f} x as long as {device} moves their bytes"
    return (told,) if round(slow, 1) > 1 else ()


def contradictions(facts: Facts) -> tuple[str, ...]:
    """What speaks against the rates that the forms are predicted by, in words."""
    found, stays = slow_kernels(facts) if slowdown(facts) > C.SLOW else (), unexplained_ns(facts)
    if not stays:
        return found
    share = percent(stays / float(facts.region.duration.sum()))
    return (
        *found,
        f"kernels that take over {C.UNEXPLAINED:.0f} x as long as their bytes, {share} of the device's time",
    )


def are_rates_doubtful(facts: Facts) -> bool:
    """Whether the rates are those of a slice of a device, or the traced kernels contradict them."""
    return part_of(facts.region.device) < WHOLE or bool(contradictions(facts))


def _over(facts: Facts, least: float) -> Floats:
    """(n) Time of each piece of work over its least time in ns and that of its traffic."""
    return facts.region.duration / (least + traffic(facts.operators) / facts.bandwidth.rate)
