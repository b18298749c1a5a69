"""Device time when the step runs for long: dense matrix work meets the power limit, and how fast the host makes copies
of unpinned memory changes from process to process."""

from __future__ import annotations

from math import prod

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, factors, read_arguments
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators.operators import Operators
from tracelens.advice.patterns import PAGEABLE
from tracelens.advice.step.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Floats
from tracelens.model.names import named

DENSE = (Kind.GEMM, Kind.CONVOLUTION, Kind.ATTENTION)


def sustained(region: Region, operators: Operators, share: Floats) -> Estimate:
    """Device time over the traced one, as factors, when the step repeats for seconds instead of a few times.

    The limit holds for the power of the whole step: it is met where little else leaves the device time to cool. How far
    another device than the calibrated one is from its limit nobody measured: the traced time, and the same high end."""
    works = _dense(region, operators, share)
    dense = _part(region, works)
    narrow = _part(region, works & _narrow_heads(region, operators)) / dense if dense else 0.0
    slowdown = C.POWER_SLOWDOWN + narrow * (C.NARROW_SLOWDOWN - C.POWER_SLOWDOWN)
    usual = 1 + slowdown * max(dense - C.POWER_SHARE, 0.0) / (1 - C.POWER_SHARE)
    usual = usual if C.CALIBRATED in region.device.name else 1.0
    low, high = C.DEVICE_SPREAD[0], max(C.DEVICE_SPREAD[1] * usual, 1 + C.POWER_SLOWDOWN * dense)
    unpinned = share_of_unpinned_copies(region)
    slow, fast = unpinned * (C.UNPINNED_SPREAD[1] - high), unpinned * (low - C.UNPINNED_SPREAD[0])
    return Estimate(usual, low - fast, high + slow)


def share_of_unpinned_copies(region: Region) -> float:
    """Share of the device time in copies from or to host memory that is not pinned."""
    copies = named(region.trace, region.work, PAGEABLE)
    return float(region.duration[copies].sum()) / max(float(region.duration.sum()), 1.0)


def _dense(region: Region, operators: Operators, share: Floats) -> Bools:
    """Half-precision matrix products, convolutions and attention that fill the device and are bound by arithmetic."""
    half = (operators.bytes > 0) & (operators.bytes <= 2 * operators.elements)
    dense = np.isin(kinds(region.trace, region.work), DENSE) & half & (share >= 1)
    products = np.flatnonzero(dense & operators.product)
    if len(products):
        intensity = read_arguments(region.trace, operators.name[products], (A.SHAPES, A.DTYPES), _intensity)[:, 0]
        dense[products] = intensity >= C.ARITHMETIC_BOUND
    return dense


def _narrow_heads(region: Region, operators: Operators) -> Bools:
    """Attention whose products wait for its exponentials: there is one for each few operations."""
    return (kinds(region.trace, region.work) == Kind.ATTENTION) & (operators.row <= C.NARROW_HEAD)


def _part(region: Region, work: Bools) -> float:
    """Share of the device time in some of the work."""
    return float(region.duration[work].sum()) / max(float(region.duration.sum()), 1.0)


def _intensity(shapes: list[Json], _: list[Json]) -> tuple[float]:
    """Operations per byte of a half-precision product of two matrices or batches of them; 0 for what is none."""
    matrices = factors(shapes)
    if matrices is None:
        return (0.0,)
    first, second = matrices
    result = prod(first[:-1]) * second[-1]
    return (result * first[-1] / max(prod(first) + prod(second) + result, 1),)
