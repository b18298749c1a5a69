"""What the traces of a run's forms say of one step, and what changed from form to form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, SUBMITS, Category
from tracelens.tui.coverage import Coverage


@dataclass(frozen=True, slots=True, eq=False)
class StepFacts:
    """What one step of a form holds, on average over the counted steps."""

    length: int
    """ns of the first counted step in the trace."""
    busy: Coverage
    """When the device works in that step, in ns from its start."""
    launches: float
    kernels: Mapping[str, tuple[float, float]]
    """Name of device work -> times a step, ns a step."""

    @property
    def device_ns(self) -> float:
        """Device time of a step, streams added up."""
        return sum(ns for _, ns in self.kernels.values())

    @property
    def device_events(self) -> float:
        """Pieces of device work in a step."""
        return sum(count for count, _ in self.kernels.values())


def step_facts(analysis: Analysis) -> StepFacts:
    """The facts of a trace's step; of the whole window where there are no steps."""
    trace, tiles, events = analysis.trace, analysis.window.tiles, analysis.trace.events
    steps = max(len(tiles), 1)
    owned = analysis.steps.owner != ABSENT
    work = np.flatnonzero(owned & events.device_work() & (events.device == analysis.device))
    calls = owned & (events.category == Category.RUNTIME) & np.isin(events.role, SUBMITS)
    names, inverse = np.unique(events.name[work], return_inverse=True)
    count = np.bincount(inverse, minlength=len(names)) / steps
    total = np.bincount(inverse, weights=events.duration[work], minlength=len(names)) / steps
    kernels = {trace.names[int(name)]: (float(n), float(ns)) for name, n, ns in zip(names, count, total, strict=True)}
    start, end = (int(tiles[0, 0]), int(tiles[0, 1])) if len(tiles) else (0, 1)
    busy = Coverage.of(events.start[work] - start, events.end[work] - start)
    return StepFacts(max(end - start, 1), busy, float(np.count_nonzero(calls)) / steps, kernels)


@dataclass(frozen=True, slots=True)
class Change:
    """One kernel of two forms: times and ns a step, in the first and in the second."""

    name: str
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def kind(self) -> str:
        """ "vanished", "appeared" or "changed"."""
        return "appeared" if not self.before[0] else "changed" if self.after[0] else "vanished"


def changes(before: StepFacts, after: StepFacts) -> list[Change]:
    """Kernels that differ in number, or by a tenth in time; largest difference in time first."""
    none = (0.0, 0.0)
    names = dict.fromkeys([*before.kernels, *after.kernels])
    pairs = [Change(name, before.kernels.get(name, none), after.kernels.get(name, none)) for name in names]
    differ = [one for one in pairs if one.before[0] != one.after[0] or _apart(one.before[1], one.after[1])]
    return sorted(differ, key=lambda one: -abs(one.after[1] - one.before[1]))


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > 0.1 * max(one, other)
