"""Device time when the step runs for long: dense matrix work meets the power limit, and how fast the host makes copies
of unpinned memory changes from process to process."""

from __future__ import annotations

from math import prod
from typing import Final

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

DENSE: Final = (Kind.GEMM, Kind.CONVOLUTION, Kind.ATTENTION)

POWER_FROM: Final = 300e3
"""Operations per ns of dense half-precision work from which the power limit slows it. [H200, with the slope: 10 steps
of little else at 460 to 800 Tflop/s, within 5 %]"""
POWER_SLOWDOWN: Final = 0.14 / 400e3
"""How much slower a step of nothing but such work runs once the limit holds, after the few steps of a trace, for each
operation per ns above that. [H200, the same steps: 4 to 7 % at 480 Tflop/s, 11 at 690, 15 to 21 at 750, 14 to 20 at
800]"""
POWER_REACH: Final = 1.5
"""Most of a slowdown over what is expected: devices differ. [H200, the same steps: up to 1.35]"""
NARROW_HEAD: Final = 64
"""Numbers of a head up to which attention's products wait for its exponentials, so that it takes less power. [H200: 480
Tflop/s at 64, 620 at 128]"""
NARROW_RATE: Final = 480e3
"""Operations per ns of such attention, and of work by the instructions of the generation before. [H200, 3 steps: 450
to 481] Products in double precision, at a tenth of that, take as much power. [H200, 1 step: 6 % slower]"""
ATTENTION_RATE: Final = 750e3
"""... and of products that take as much power as attention of wider heads, which computes exponentials beside its 620.
[H200, 2 steps: slower by 14 and 16 %]"""
PEAK_RATE: Final = 900e3
"""... and the most of any product. [H200: up to 862]"""
ARITHMETIC_BOUND: Final = 150.0
"""Operations per byte from which a half-precision product is bound by arithmetic. [data sheets: 150 to 300]"""
POWER_SHARE: Final = 0.75
"""Share of the device time in such work up to which the limit is not met. [H200, 5 steps of 0.6 to 0.7: 0 to 4 %]"""


def sustained(region: Region, operators: Operators, share: Floats) -> Estimate:
    """Device time over the traced one, as factors, when the step repeats for seconds instead of a few times.

    Power rises with the rate of the arithmetic. The limit holds for the power of the whole step: it is met where little
    else leaves the device time to cool. How far another device than the calibrated one is from its limit nobody
    measured: the traced time, and the high end of usual work."""
    works, calibrated = _dense(region, operators, share), C.CALIBRATED in region.device.name
    dense = float(region.duration[works].sum()) / max(float(region.duration.sum()), 1.0)
    rate = _rate(region, operators, works) if calibrated and dense else C.DENSE_RATE
    slowdown = POWER_SLOWDOWN * max(rate - POWER_FROM, 0.0)
    usual = 1 + slowdown * max(dense - POWER_SHARE, 0.0) / (1 - POWER_SHARE) if calibrated else 1.0
    low, high = C.DEVICE_SPREAD[0], max(C.DEVICE_SPREAD[1] * usual, 1 + POWER_REACH * slowdown * dense)
    unpinned = share_of_unpinned_copies(region)
    slow, fast = unpinned * (C.UNPINNED_SPREAD[1] - high), unpinned * (low - C.UNPINNED_SPREAD[0])
    return Estimate(usual, low - fast, high + slow)


def share_of_unpinned_copies(region: Region) -> float:
    """Share of the device time in copies from or to host memory that is not pinned."""
    copies = named(region.trace, region.work, P.PAGEABLE)
    return float(region.duration[copies].sum()) / max(float(region.duration.sum()), 1.0)


def _dense(region: Region, operators: Operators, share: Floats) -> Bools:
    """Half-precision matrix products, convolutions and attention, and double-precision products, that fill the device
    and are bound by arithmetic."""
    half = (operators.bytes > 0) & (operators.bytes <= 2 * operators.elements)
    wide = (operators.bytes == 8 * operators.elements) & operators.product
    dense = np.isin(kinds(region.trace, region.work), DENSE) & (half | wide) & (share >= 1)
    at = np.flatnonzero(dense & operators.product)
    if len(at):
        _, intensity, double = _products(region, operators, at).T
        dense[at] = (intensity >= ARITHMETIC_BOUND) & (half[at] | (double > 0))
    return dense


def _rate(region: Region, operators: Operators, works: Bools) -> float:
    """Operations per ns of the dense work: of products by their shapes and durations, of others by their kind."""
    kind, old = kinds(region.trace, region.work), named(region.trace, region.work, P.OLDER_INSTRUCTIONS)
    attention, narrow = kind == Kind.ATTENTION, operators.row <= NARROW_HEAD
    cases = ((attention & narrow) | old, NARROW_RATE), (attention, ATTENTION_RATE)
    rate = np.select([case for case, _ in cases], [usual for _, usual in cases], C.DENSE_RATE)
    at = np.flatnonzero(works & operators.product)
    if len(at):
        _, product = np.unique(operators.name[at], return_inverse=True)
        took = np.bincount(product, region.duration[at])[product]
        operations, _, double = _products(region, operators, at).T
        rate[at] = np.where(double > 0, NARROW_RATE, np.minimum(operations / np.maximum(took, 1), PEAK_RATE))
    return float(np.average(rate[works], weights=np.maximum(region.duration[works], 1)))


def _products(region: Region, operators: Operators, at: Int64s) -> Floats:
    """(n, 3) Operations of products, those per byte if they were in half precision, and 1 for double precision."""
    return read_arguments(region.trace, operators.name[at], (A.SHAPES, A.DTYPES), _arithmetic)


def _arithmetic(shapes: list[Json], dtypes: list[Json]) -> tuple[float, float, float]:
    """The same of a product of two matrices or batches of them; 0 for what is none."""
    matrices = factors(shapes)
    if matrices is None:
        return 0.0, 0.0, 0.0
    first, second = matrices
    result = prod(first[:-1]) * second[-1]
    dense = result * first[-1]
    return 2.0 * dense, dense / max(prod(first) + prod(second) + result, 1), float("double" in dtypes)
