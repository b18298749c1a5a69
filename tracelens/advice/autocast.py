"""What autocast leaves in a trace."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.model.events import ABSENT, Category, Trace
from tracelens.model.names import named

CAST: Final = re.compile(r"^aten::to$")
CASTING: Final = re.compile(r"^aten::(?:linear|conv\dd|conv_transpose\dd|matmul|b?mm|addb?mm|baddbmm|einsum)$")
"""Operators that run in the lower type; none of them converts its arguments without autocast."""


def is_autocast(trace: Trace) -> bool:
    """Whether matrix products or convolutions convert their own arguments."""
    operators = np.flatnonzero(trace.events.category == Category.OPERATOR)
    casts = operators[named(trace, operators, CAST)] if len(operators) else operators
    parents = trace.links.parent[casts]
    parents = np.unique(parents[parents != ABSENT])
    return bool(len(parents) and named(trace, parents, CASTING).any())
