"""What device work was called: names of operators and kernels, each distinct one looked at once."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tracelens.advice.step.region import Region
from tracelens.model.events import ABSENT, Bools, Int64s, Trace
from tracelens.model.names import alike


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Texts of n rows, each distinct one asked once, whatever the number at its end."""

    texts: list[str]
    index: Int64s

    def match(self, pattern: re.Pattern[str]) -> Bools:
        """Mask of the rows whose text the pattern is found in."""
        return np.array([pattern.search(text) is not None for text in self.texts], dtype=np.bool_)[self.index]


def operator_names(trace: Trace, operator: Int64s) -> Names:
    """Bare aten names ("add" of "aten::add_"); "" for device work without an operator, others in full."""
    name = alike(trace)[trace.events.name[operator]]
    distinct, index = np.unique(np.where(operator == ABSENT, ABSENT, name), return_inverse=True)
    return Names([_bare(trace.names[int(name)]) if name != ABSENT else "" for name in distinct], index)


def kernel_names(region: Region) -> Names:
    """Names of the kernels."""
    name = alike(region.trace)[region.trace.events.name[region.work]]
    distinct, index = np.unique(name, return_inverse=True)
    return Names([region.trace.names[int(name)] for name in distinct], index)


def _bare(name: str) -> str:
    return name.removeprefix("aten::").rstrip("_") if name.startswith("aten::") else f"custom {name}"


def around(trace: Trace, operator: Int64s) -> Names:
    """What called each operator; of one inside another of its own name, as early releases have them, what called
    that."""
    parent, name = trace.links.parent, trace.events.name
    while True:
        caller = np.where(operator == ABSENT, ABSENT, parent[operator]).astype(np.int64)
        again = (caller != ABSENT) & (name[caller] == name[operator])
        if not again.any():
            return operator_names(trace, caller)
        operator = np.where(again, caller, operator)
