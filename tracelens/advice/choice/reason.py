"""What bounds the step, in one sentence."""

from __future__ import annotations

from typing import Final

from tracelens.advice import constants as C
from tracelens.advice.device.facts import Facts
from tracelens.advice.forms.host_time import host_scale
from tracelens.advice.step.region import Region
from tracelens.model.events import Category
from tracelens.model.units import NS_PER_MS, counted, milliseconds, share

LEAST: Final = 0.0005
"""Share of the device time that is worth a number: less reads 0.0 %."""
COPIES: Final = 0.05
"""Share of the device time from which copies are named beside the kernels. [judgement]"""
STREAMS: Final = 0.97
"""The predicted device time is told beside the traced one if it is less than this part of it. [judgement]"""
LIMIT: Final = 0.9
"""Share of the step in which the device works that makes it the limit. [judgement]"""
SLOWER: Final = 1.05
"""Device time at sustained clocks over the traced one from which it is told as well. [judgement]"""
OTHER_WORK: Final = 1.1
"""A device busy for this much longer than the step's own kernels works for something else as well. [judgement]"""


def reason(facts: Facts, step_ms: float | None = None, replaying: float = 0.0) -> str:
    """Host-bound, device-bound or neither, and by what kind of work. Device time is that of the account of the step.

    step_ms: the step as it runs without the profiler, where that is known; replaying: ns of the host for a replay
    itself, beside what the trace shows of a replayed step."""
    region, clocks = facts.region, facts.sustained.mid
    device = facts.span(C.STREAM_SPACING).expected
    host = min(region.host * host_scale(region).mid + replaying, region.recorded)
    if host > clocks * device:
        work = f"{counted(len(region), 'kernel')} that {'runs' if len(region) == 1 else 'run'}"
        return f"The host needs about {_ms(host)} ms to launch {work} for {_kernel_time(region, device)}."
    part = facts.fusable_share
    copied = float(region.duration[region.trace.events.category[region.work] == Category.COPY].sum())
    many = "kernels and copies" if copied > COPIES * float(region.duration.sum()) else "kernels"
    kernels = "its kernel runs" if len(region) == 1 else f"its {many} run"
    fuse = share(part) if part >= LEAST else "none"
    works = region.busy / (step_ms * NS_PER_MS) if step_ms else 1.0
    idles = clocks * works < LIMIT
    bound = f"The device idles for about {share(1 - works)} of the step" if idles else "The device is the limit"
    told = _kernel_time(region, device) + (_at_clocks(clocks * region.busy) if clocks >= SLOWER and not idles else "")
    return f"{bound}: {kernels} for {told}, {fuse} of it in kernels that can fuse."


def _at_clocks(ns: float) -> str:
    """What the device time becomes once the power limit lowers the clocks."""
    return f" ({_ms(ns)} ms at the clocks of a long run)"


def _kernel_time(region: Region, device: float) -> str:
    """The device time that the account of the step names, or the step's own where that holds other work too; and why
    the predicted times are shorter, where they are."""
    own = float(region.duration.sum())
    if device < STREAMS * min(region.busy, own):
        return f"{_ms(region.busy)} ms ({_ms(device)} ms where its streams overlap as far as their events allow)"
    if region.busy <= OTHER_WORK * own:
        return f"{_ms(region.busy)} ms"
    return f"{_ms(own)} ms (with work from outside the step the device is busy for {_ms(region.busy)} ms)"


def _ms(ns: float) -> str:
    return milliseconds(ns / NS_PER_MS)
