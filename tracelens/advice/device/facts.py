"""All that the prediction derives from a region before it predicts anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.device.bandwidth import Bandwidth, infer_sizes, streaming_bandwidth
from tracelens.advice.device.beside import delay
from tracelens.advice.device.power import sustained
from tracelens.advice.device.schedule import Span, busy_alone, device_span
from tracelens.advice.device.share import held, share_of_device
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators.operators import Operators, describe
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.region import Region, find_region
from tracelens.analysis.results import Analysis
from tracelens.model.events import Bools, Floats
from tracelens.model.once import once
from tracelens.model.units import NS_PER_MS


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """A step's region with what follows from it."""

    region: Region
    operators: Operators
    bandwidth: Bandwidth
    share: Floats
    """(n) Share of the device that each piece of work takes while it runs."""
    beside: float
    """Ns by which work of several streams takes longer than its critical path."""
    sustained: Estimate
    """Device time over the traced one when the step runs for long."""

    @property
    def fusable(self) -> Bools:
        """(n) Whether the compiler can make a piece of work part of a kernel of its own."""
        return np.isin(self.operators.role, (Role.LIBRARY, Role.VANISHES), invert=True)

    @property
    def fusable_share(self) -> float:
        """Share of the device time in such work, one piece after the other; 0 of a piece that has none to fuse with."""
        if self.fusable.sum() < 2:
            return 0.0
        return float(self.region.duration[self.fusable].sum()) / max(float(self.region.duration.sum()), 1.0)

    @property
    def device_ms(self) -> float:
        """Ms of device work in the step, its streams overlapped."""
        return self.span(C.STREAM_SPACING).expected / NS_PER_MS

    def span(self, spacing: Floats | float) -> Span:
        """Device time of the step with a spacing in ns for each piece of work.

        Work that was queued in time began when the other streams and the devices let it: no host makes more of it
        overlap than the trace shows."""
        span = device_span(self.region, self.beside, spacing)
        return span.at_least(min(busy_alone(self.region), self.region.busy) - self.region.late)


@once
def facts_of(analysis: Analysis) -> Facts | None:
    """What follows from the step of an analysis; None without device work that a counted step launched."""
    region = find_region(analysis)
    return None if region is None else find_facts(region)


def find_facts(region: Region) -> Facts:
    """What follows from a region."""
    described = describe(region)
    bandwidth = streaming_bandwidth(region, described)
    operators = infer_sizes(region, described, bandwidth)
    share = share_of_device(region, operators, bandwidth.rate)
    late = delay(region, held(region, operators, bandwidth.rate))
    return Facts(region, operators, bandwidth, share, late, sustained(region, operators, share))
