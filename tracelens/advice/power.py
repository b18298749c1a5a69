"""Device time when the step runs for long: dense matrix work meets the power limit."""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators import Operators
from tracelens.advice.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model.events import Floats

DENSE = (Kind.GEMM, Kind.CONVOLUTION, Kind.ATTENTION)


def sustained(region: Region, operators: Operators, share: Floats) -> Estimate:
    """Device time over the traced one, as factors, when the step repeats for seconds instead of a few times.

    The limit holds for the power of the whole step: it is met where little else leaves the device time to cool."""
    dense = dense_share(region, operators, share)
    usual = 1 + C.POWER_SLOWDOWN * max(dense - C.POWER_SHARE, 0.0) / (1 - C.POWER_SHARE)
    return Estimate(usual, C.DEVICE_SPREAD[0], max(C.DEVICE_SPREAD[1] * usual, 1 + C.POWER_SLOWDOWN * dense))


def dense_share(region: Region, operators: Operators, share: Floats) -> float:
    """Share of the device time in half-precision matrix products, convolutions and attention that fill the device."""
    half = (operators.bytes > 0) & (operators.bytes <= 2 * operators.elements)
    dense = np.isin(kinds(region.trace, region.work), DENSE) & half & (share >= 1)
    return float(region.duration[dense].sum()) / max(float(region.duration.sum()), 1.0)
