"""What the traces of a run's forms say of one step, and what changed from form to form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracelens.analysis.handles import DEVICE_EVENT, handles_of
from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, SUBMITS, Category, among
from tracelens.tui.steps import Step, typical_step


@dataclass(frozen=True, slots=True, eq=False)
class StepFacts:
    """What one step of a form holds, on average over the counted steps, and one of them to look at."""

    step: Step
    launches: float
    kernels: Mapping[str, tuple[float, float]]
    """Name of device work -> times a step, ns a step."""
    examples: Mapping[str, str]
    """Name of device work -> handle of its first event in that step, or in any."""

    @property
    def device_ns(self) -> float:
        """Device time of a step, streams added up."""
        return sum(ns for _, ns in self.kernels.values())

    @property
    def device_events(self) -> float:
        """Pieces of device work in a step."""
        return sum(count for count, _ in self.kernels.values())


def step_facts(analysis: Analysis, form: str) -> StepFacts:
    """The facts of a trace's step; of the whole window where there are no steps."""
    trace, events = analysis.trace, analysis.trace.events
    steps, step = max(len(analysis.window.tiles), 1), typical_step(analysis, form)
    owner = analysis.steps.owner
    work = np.flatnonzero((owner != ABSENT) & events.device_work() & (events.device == analysis.device))
    # Those of the step that is shown come first, so that examples are of it.
    work = work[np.argsort(owner[work] != step.number, kind="stable")]
    calls = (owner != ABSENT) & (events.category == Category.RUNTIME) & among(events.role, SUBMITS)
    numbers, first, inverse = np.unique(events.name[work], return_index=True, return_inverse=True)
    count = np.bincount(inverse, minlength=len(numbers)) / steps
    total = np.bincount(inverse, weights=events.duration[work], minlength=len(numbers)) / steps
    names = [trace.names[int(number)] for number in numbers]
    kernels = dict(zip(names, zip(count.tolist(), total.tolist(), strict=True), strict=True))
    examples = dict(zip(names, handles_of(trace, DEVICE_EVENT, work[first]), strict=True))
    return StepFacts(step, float(np.count_nonzero(calls)) / steps, kernels, examples)


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
