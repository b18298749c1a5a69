"""What was called: names of operators and kernels, each distinct one looked at once; and what user code called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tracelens.advice.step.region import Region
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace
from tracelens.model.names import alike, bearing
from tracelens.model.nesting import nearest
from tracelens.model.once import once

ATEN: Final = re.compile(r"^aten::")


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


def outermost(trace: Trace, operators: npt.NDArray[np.integer]) -> Int64s:
    """(n) The outermost aten operator around each of n operators, which user code called; ABSENT outside any."""
    return nearest(trace.links.parent, operators, _by_user(trace))


@once
def _by_user(trace: Trace) -> Bools:
    """(n) Which events are aten operators in no other one."""
    parent, aten = trace.links.parent, bearing(trace, ATEN, Category.OPERATOR)
    return aten & ~((parent != ABSENT) & aten[parent])
