"""Device time when the step runs for long: dense matrix work meets the power limit."""

from __future__ import annotations

from math import prod

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, tensors
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators import Operators, read_arguments
from tracelens.advice.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Floats


def sustained(region: Region, operators: Operators, share: Floats) -> Estimate:
    """Device time over the traced one, as factors, when the step repeats for seconds instead of a few times.

    Over a whole step no more half-precision arithmetic is done than the power limit allows for long. Products that
    would have run above the device's peak say nothing."""
    dense = _dense(region, operators, share)
    device = max(float(region.duration.sum()), 1.0)
    least = _products(region, operators, dense) / C.SUSTAINED_ARITHMETIC / _peak(region)
    usual = least / device if 1 < least / device <= 1 / C.SUSTAINED_ARITHMETIC else 1.0
    worst = 1 + C.POWER_SLOWDOWN * float(region.duration[dense].sum()) / device
    return Estimate(usual, C.DEVICE_SPREAD[0], max(C.DEVICE_SPREAD[1] * usual, worst))


def _dense(region: Region, operators: Operators, share: Floats) -> Bools:
    """Half-precision matrix products and convolutions that fill the device."""
    matrix = np.isin(kinds(region.trace, region.work), (Kind.GEMM, Kind.CONVOLUTION))
    half = (operators.bytes > 0) & (operators.bytes <= 2 * operators.elements)
    return matrix & half & (share >= 1)


def _products(region: Region, operators: Operators, dense: Bools) -> float:
    """Floating-point operations of the dense matrix products, each operator counted once."""
    rows = np.unique(operators.name[dense & operators.product])
    return float(read_arguments(region.trace, rows, (A.SHAPES, A.DTYPES), _flops).sum()) if len(rows) else 0.0


def _flops(shapes: list[Json], _: list[Json]) -> tuple[float]:
    """2 x rows x columns x depth of a product of two matrices or batches of them; 0 for what is none."""
    matrices = [dims for shape in shapes for dims in tensors(shape) if len(dims) >= 2]
    if len(matrices) < 2 or matrices[-2][-1] != matrices[-1][-2]:
        return (0.0,)
    return (2.0 * prod(matrices[-2]) * matrices[-1][-1],)


def _peak(region: Region) -> float:
    """Half-precision operations per ns of the device; without end where none is listed."""
    listed = [word for word in C.PEAK_ARITHMETIC if word in region.device.name]
    return C.PEAK_ARITHMETIC[max(listed, key=len)] if listed else float("inf")
