"""What autocast leaves in a trace."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.advice.arguments import Json, read_pairs, tensors, texts
from tracelens.model import arguments as A
from tracelens.model.distinct import distinct
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace
from tracelens.model.names import bearing, named
from tracelens.model.nesting import nearest

CAST: Final = re.compile(r"^aten::to$")
CASTING: Final = re.compile(r"^aten::(?:linear|conv\dd|conv_transpose\dd|matmul|b?mm|addb?mm|baddbmm|einsum)$")
"""Operators that run in the lower type; none of them converts its arguments without autocast."""
LAYER: Final = re.compile(r"^aten::(?:linear|conv\dd|conv_transpose\dd)$")
"""Those whose arguments after the first are parameters."""

BACK: Final = re.compile(r"^ToCopyBackward0$")
"""The node of the graph of gradients of a conversion."""


def converts_parameters(trace: Trace, operator: Int64s) -> Bools:
    """(n) Whether conversions are of a layer's parameter, or give its gradient back in the parameter's own type."""
    parameters, shapes = _of_layers(trace, operator), texts(trace, A.SHAPES, operator)
    return parameters | (returns_gradient(trace, operator) & np.isin(shapes, shapes[parameters]))


def returns_gradient(trace: Trace, operator: Int64s) -> Bools:
    """(n) Whether conversions are of gradients, as the forward pass converted what they are of."""
    return _inside(trace, operator, BACK) != ABSENT


def _of_layers(trace: Trace, operator: Int64s) -> Bools:
    """Whether layers convert an argument of the shape of a parameter, not of their input."""
    layer = _inside(trace, operator, LAYER)
    own, of = (texts(trace, A.SHAPES, rows) for rows in (operator, layer))
    return (layer != ABSENT) & (read_pairs(trace, own, of, _of_parameter)[:, 0] > 0)


def _inside(trace: Trace, operator: Int64s, what: re.Pattern[str]) -> Int64s:
    return nearest(trace.links.parent, operator, bearing(trace, what))


def _of_parameter(own: list[Json], layer: list[Json]) -> tuple[float]:
    given, *parameters = [tensors(shape) for shape in layer] or [[]]
    converted = [tensors(shape) for shape in own[:1]]
    return (float(any(shape in parameters and shape != given for shape in converted)),)


def is_autocast(trace: Trace) -> bool:
    """Whether matrix products or convolutions convert their own arguments."""
    parents = trace.links.parent[bearing(trace, CAST, Category.OPERATOR)]
    parents = distinct(parents[parents != ABSENT], len(trace.events))
    return bool(named(trace, parents, CASTING).any())
