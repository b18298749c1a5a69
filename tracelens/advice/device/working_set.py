"""The tensors that a step goes through, and so what a graph finds of itself in the cache when it runs again."""

from __future__ import annotations

import re
from math import prod
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.arguments import Json, read_arguments, tensors, width
from tracelens.advice.device.bandwidth import traffic
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.advice.step.region import Region
from tracelens.model import arguments as A
from tracelens.model.distinct import distinct
from tracelens.model.events import ABSENT, Int64s
from tracelens.model.names import named

SECOND: Final = re.compile(r"^aten::(?:mm|linear|(?:cudnn_|miopen_|mkldnn_)?convolution\w*|_conv_depthwise\w*)$")
"""Operators whose second argument is the matrix of parameters."""
THIRD: Final = re.compile(r"^aten::_?addmm\w*$")
"""... and whose third is: the first is the bias."""


def working_set(region: Region, operators: Operators) -> float:
    """Bytes of the step's tensors that take a place of their own in the cache.

    Training keeps what its forward pass makes and updates what belongs to each parameter: a share of all that its work
    is given. Without a backward pass one place serves layer after layer: the parameters count, and the rows that are
    gathered of tables."""
    if not region.training:
        return weight_bytes(region) + float(operators.bytes[operators.gathers].sum())
    lists, gone = operators.role == Role.FOREACH, operators.role == Role.VANISHES
    given = np.where(lists, traffic(operators), np.where(gone, 0.0, operators.bytes))
    return C.DISTINCT * float(given.sum())


def weight_bytes(region: Region) -> float:
    """Bytes of the matrices that the step's products and convolutions take beside what they work on.

    Each call counts, as if every layer had its own; those of a recurrence are the same each time."""
    operators = region.trace.links.operator[region.work]
    operators = distinct(operators[operators != ABSENT], len(region.trace.events))
    return sum(
        _bytes(region, operators[named(region.trace, operators, of)], at) for of, at in ((SECOND, 1), (THIRD, 2))
    )


def _bytes(region: Region, operators: Int64s, at: int) -> float:
    """Bytes of the arguments at one position of the operators, together."""

    def read(shapes: list[Json], dtypes: list[Json]) -> tuple[float, ...]:
        dims = tensors(shapes[at]) if at < len(shapes) else []
        return (float(prod(dims[0]) * width(dtypes, at)) if dims else 0.0,)

    return float(read_arguments(region.trace, operators, (A.SHAPES, A.DTYPES), read).sum()) if len(operators) else 0.0
