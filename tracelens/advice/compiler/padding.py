"""Half-precision matrix products with odd dimensions, which the compiler pads where that is faster.

[Inductor's pad_mm: it measures products that arithmetic bounds both ways]"""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.arguments import Json, factors, read_arguments
from tracelens.advice.operators.operators import Operators
from tracelens.advice.step.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Floats
from tracelens.model.names import tell_names


def padded(region: Region, operators: Operators, bandwidth: float) -> Floats:
    """(n) Duration of each piece of work in ns once products are padded, at so many bytes per ns.

    Padding gains where rows of an odd length keep a kernel from loading 16 bytes at once; which matrix lies how, only
    the kernel's name tells. The padded product runs at the rate of the step's even ones, where it has such, and its
    second matrix is copied where a dimension of that is odd; of the first a kernel writes what is added."""
    half = operators.product & (operators.bytes == 2 * operators.elements) & (operators.name != ABSENT)
    at = np.flatnonzero(half & (kinds(region.trace, region.work) == Kind.GEMM))
    if not len(at):
        return region.duration
    work, odd, copied = read_arguments(region.trace, operators.name[at], (A.SHAPES, A.DTYPES), _work).T
    _, product = np.unique(operators.name[at], return_inverse=True)
    took = np.bincount(product, region.duration[at])[product].astype(np.float64)
    rate = _rate(region, work, took, (work > 0) & (odd == 0))
    takes = C.PRODUCT_START + work / rate + C.PADDING_COPY + copied / bandwidth if rate else took
    narrow = tell_names(region.trace, region.work[at], lambda name: P.NARROW_LOADS.search(name) is not None, np.bool_)
    faster = narrow & (odd > 0) & (work > 0) & (took > C.PADDING_PAYS * takes)
    factor = np.ones(len(region))
    factor[at] = np.where(faster, takes / took, 1.0)
    return region.duration * factor


def _rate(region: Region, work: Floats, took: Floats, even: Bools) -> float:
    """Operations per ns of the even products that run for longer than they take to start; else what is known of the
    device, 0 if nothing is."""
    even = even & (took > 2 * C.PRODUCT_START)
    known = C.DENSE_RATE if C.CALIBRATED in region.device.name else 0.0
    return float(np.median(work[even] / (took[even] - C.PRODUCT_START))) if even.any() else known


def _work(shapes: list[Json], _: list[Json]) -> tuple[float, float, float]:
    """Operations of a product of matrices that arithmetic bounds, else 0; whether a dimension of it is odd; and bytes
    that a copy of the second matrix moves if one of that is."""
    matrices = factors(shapes)
    if matrices is None:
        return 0.0, 0.0, 0.0
    (*batch, rows, inner), columns = matrices[0], matrices[1][-1]
    dense, times = rows * inner * columns, float(np.prod(batch))
    moved = rows * inner + inner * columns + rows * columns
    bound = dense > C.PADDED_INTENSITY * moved
    odd, second = any(map(_odd, (rows, inner, columns))), _odd(inner) or _odd(columns)
    return 2.0 * dense * times * bound, float(odd), 4.0 * inner * columns * times * second


def _odd(dim: int) -> bool:
    return dim > 1 and dim % C.ALIGNED != 0
