"""Device time when the step runs for long: dense matrix work meets the power limit."""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators import Operators
from tracelens.advice.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model.events import Floats


def sustained(region: Region, operators: Operators, share: Floats) -> Estimate:
    """Device time over the traced one, as factors, when the step repeats for seconds instead of a few times."""
    dense = dense_share(region, operators, share)
    usual, worst = (1 + slowdown * dense for slowdown in C.POWER_SLOWDOWN)
    return Estimate(usual, C.DEVICE_SPREAD[0], max(C.DEVICE_SPREAD[1], worst))


def dense_share(region: Region, operators: Operators, share: Floats) -> float:
    """Share of the device time in half-precision matrix products and convolutions that fill the device."""
    matrix = np.isin(kinds(region.trace, region.work), (Kind.GEMM, Kind.CONVOLUTION))
    half = (operators.bytes > 0) & (operators.bytes <= 2 * operators.elements)
    dense = float(region.duration[matrix & half & (share >= 1)].sum())
    return dense / max(float(region.duration.sum()), 1.0)
