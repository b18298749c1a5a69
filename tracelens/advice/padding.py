"""Half-precision matrix products with odd dimensions, which the compiler pads where that is faster.

[Inductor's pad_mm: it measures products that arithmetic bounds both ways]"""

from __future__ import annotations

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, read_arguments, tensors
from tracelens.advice.operators import Operators
from tracelens.advice.region import Region
from tracelens.analysis.kinds import Kind, kinds
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Floats


def padded(region: Region, operators: Operators) -> Floats:
    """(n) Duration of each piece of work in ns once products are padded: at the rate of the step's even ones, where it
    has such."""
    half = operators.product & (operators.bytes == 2 * operators.elements) & (operators.name != ABSENT)
    at = np.flatnonzero(half & (kinds(region.trace, region.work) == Kind.GEMM))
    if not len(at):
        return region.duration
    work, odd = read_arguments(region.trace, operators.name[at], (A.SHAPES, A.DTYPES), _work).T
    _, product = np.unique(operators.name[at], return_inverse=True)
    took = np.bincount(product, weights=region.duration[at])[product]
    even = (work > 0) & (odd == 0)
    known = C.DENSE_RATE if C.CALIBRATED in region.device.name else 0.0
    rate = float(np.median(work[even] / took[even])) if even.any() else known
    takes = work / rate if rate else took
    faster = (odd > 0) & (work > 0) & (took > C.PADDING_PAYS * takes)
    factor = np.ones(len(region))
    factor[at] = np.where(faster, takes / took, 1.0)
    return region.duration * factor


def _work(shapes: list[Json], _: list[Json]) -> tuple[float, float]:
    """Operations of a product of matrices that arithmetic bounds, else 0; and whether a dimension of it is odd."""
    matrices = [dims for shape in shapes for dims in tensors(shape) if len(dims) >= 2]
    if len(matrices) < 2 or matrices[-2][-1] != matrices[-1][-2]:
        return 0.0, 0.0
    (*batch, rows, inner), columns = matrices[-2], matrices[-1][-1]
    dense = rows * inner * columns
    moved = rows * inner + inner * columns + rows * columns
    bound = dense > C.PADDED_INTENSITY * moved
    odd = any(dim % C.ALIGNED and dim > 1 for dim in (rows, inner, columns))
    return 2.0 * dense * float(np.prod(batch)) * bound, float(odd)
