"""All that the prediction derives from a region before it predicts anything."""

from __future__ import annotations

from dataclasses import dataclass

from tracelens.advice.bandwidth import Bandwidth, infer_sizes, streaming_bandwidth
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators import Operators, describe
from tracelens.advice.power import sustained
from tracelens.advice.region import Region
from tracelens.advice.schedule import Span, device_span
from tracelens.advice.share import share_of_device
from tracelens.model.events import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """A step's region with what follows from it."""

    region: Region
    operators: Operators
    bandwidth: Bandwidth
    share: Floats
    """(n) Share of the device that each piece of work takes while it runs."""
    sustained: Estimate
    """Device time over the traced one when the step runs for long."""

    def span(self, spacing: Floats | float) -> Span:
        """Device time of the step with a spacing in ns for each piece of work."""
        return device_span(self.region, self.share, spacing)


def find_facts(region: Region) -> Facts:
    """What follows from a region."""
    described = describe(region)
    bandwidth = streaming_bandwidth(region, described)
    operators = infer_sizes(region, described, bandwidth)
    share = share_of_device(region, operators, bandwidth.rate)
    return Facts(region, operators, bandwidth, share, sustained(region, operators, share))
