"""Device time when the step runs for long: dense matrix work meets the power limit, and how fast the host makes copies
of unpinned memory changes from process to process."""

from __future__ import annotations

from math import prod

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.arguments import Json, factors, read_arguments
from tracelens.advice.estimate import Estimate
from tracelens.advice.operators.operators import Operators
from tracelens.advice.step.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Floats, Int64s
from tracelens.model.names import named

DENSE = (Kind.GEMM, Kind.CONVOLUTION, Kind.ATTENTION)


def sustained(region: Region, operators: Operators, share: Floats) -> Estimate:
    """Device time over the traced one, as factors, when the step repeats for seconds instead of a few times.

    Power rises with the rate of the arithmetic. The limit holds for the power of the whole step: it is met where little
    else leaves the device time to cool. How far another device than the calibrated one is from its limit nobody
    measured: the traced time, and the high end of usual work."""
    works, calibrated = _dense(region, operators, share), C.CALIBRATED in region.device.name
    dense = float(region.duration[works].sum()) / max(float(region.duration.sum()), 1.0)
    rate = _rate(region, operators, works) if calibrated and dense else C.DENSE_RATE
    slowdown = C.POWER_SLOWDOWN * max(rate - C.POWER_FROM, 0.0)
    usual = 1 + slowdown * max(dense - C.POWER_SHARE, 0.0) / (1 - C.POWER_SHARE) if calibrated else 1.0
    low, high = C.DEVICE_SPREAD[0], max(C.DEVICE_SPREAD[1] * usual, 1 + C.POWER_REACH * slowdown * dense)
    unpinned = share_of_unpinned_copies(region)
    slow, fast = unpinned * (C.UNPINNED_SPREAD[1] - high), unpinned * (low - C.UNPINNED_SPREAD[0])
    return Estimate(usual, low - fast, high + slow)


def share_of_unpinned_copies(region: Region) -> float:
    """Share of the device time in copies from or to host memory that is not pinned."""
    copies = named(region.trace, region.work, P.PAGEABLE)
    return float(region.duration[copies].sum()) / max(float(region.duration.sum()), 1.0)


def _dense(region: Region, operators: Operators, share: Floats) -> Bools:
    """Half-precision matrix products, convolutions and attention that fill the device and are bound by arithmetic."""
    half = (operators.bytes > 0) & (operators.bytes <= 2 * operators.elements)
    dense = np.isin(kinds(region.trace, region.work), DENSE) & half & (share >= 1)
    at = np.flatnonzero(dense & operators.product)
    if len(at):
        dense[at] = _products(region, operators, at)[:, 1] >= C.ARITHMETIC_BOUND
    return dense


def _rate(region: Region, operators: Operators, works: Bools) -> float:
    """Operations per ns of the dense work: of products by their shapes and durations, of others by their kind."""
    kind, old = kinds(region.trace, region.work), named(region.trace, region.work, P.OLDER_INSTRUCTIONS)
    attention, narrow = kind == Kind.ATTENTION, operators.row <= C.NARROW_HEAD
    cases = ((attention & narrow) | old, C.NARROW_RATE), (attention, C.ATTENTION_RATE)
    rate = np.select([case for case, _ in cases], [usual for _, usual in cases], C.DENSE_RATE)
    at = np.flatnonzero(works & operators.product)
    if len(at):
        _, product = np.unique(operators.name[at], return_inverse=True)
        took = np.bincount(product, region.duration[at])[product]
        operations = _products(region, operators, at)[:, 0]
        rate[at] = np.minimum(operations / np.maximum(took, 1), C.PEAK_RATE)
    return float(np.average(rate[works], weights=np.maximum(region.duration[works], 1)))


def _products(region: Region, operators: Operators, at: Int64s) -> Floats:
    """(n, 2) Operations of some of the work's products, and operations per byte."""
    return read_arguments(region.trace, operators.name[at], (A.SHAPES, A.DTYPES), _arithmetic)


def _arithmetic(shapes: list[Json], _: list[Json]) -> tuple[float, float]:
    """Operations, and those per byte, of a half-precision product of two matrices or batches of them; 0 for what is
    none."""
    matrices = factors(shapes)
    if matrices is None:
        return 0.0, 0.0
    first, second = matrices
    result = prod(first[:-1]) * second[-1]
    dense = result * first[-1]
    return 2.0 * dense, dense / max(prod(first) + prod(second) + result, 1)
