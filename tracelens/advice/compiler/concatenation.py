"""Work that makes the parts of a concatenation, which generated code computes in one loop over all of its elements.

At each element it computes every part and keeps one. [Inductor's lowering of cat: pointwise_cat]"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice.operators.operators import Operators
from tracelens.advice.operators.roles import Role
from tracelens.model.events import Floats, Int64s


def parts_of_concatenations(operators: Operators, fused: Int64s, first: Int64s) -> Floats:
    """In how many equal parts a short concatenation takes what each of (n) fusable works makes; 1 without one.

    first: positions at which kernels begin. Reductions are stored before a concatenation, and so is what they read."""
    role, size, at = operators.role[fused], operators.elements[fused], np.arange(len(fused))
    joined = np.where(operators.inputs == operators.listed, operators.listed, 0)[fused]
    joins = (role == Role.POINTWISE) & (joined > 1) & (joined <= C.COPIED_INPUTS)
    following = np.minimum.accumulate(np.where(joins, at, len(fused))[::-1])[::-1]
    kernel, stored = np.searchsorted(first, at, side="right"), np.cumsum(role != Role.POINTWISE)
    into = np.minimum(following, len(fused) - 1)
    made = (following < len(fused)) & (kernel == kernel[into]) & (stored == stored[into]) & (size == size[into])
    return np.where(made, joined[into], 1.0)


def at_each_element(operators: Operators, fused: Int64s, parts: Floats) -> Operators:
    """The operators, of which those that make parts of a concatenation work on all of its elements."""
    times = np.ones(len(operators.role))
    times[fused] = parts
    return replace(operators, elements=operators.elements * times, written=operators.written * times)
