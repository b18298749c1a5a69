"""One check of a trace: what it measures, where it fails, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tracelens.analysis.results import Attribution, Check, Steps, Timeline
from tracelens.model.events import Int64s, Trace
from tracelens.model.units import counted, share


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the checks look at."""

    trace: Trace
    steps: Steps
    timeline: Timeline
    attribution: Attribution
    work: Int64s
    """Rows of the device work in the window."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One check: a measure, where it fails, where the trace becomes unusable, and what to say."""

    id: str
    measure: Callable[[Evidence], float | None]
    threshold: float
    unusable: float | None
    """The trace can carry no answer beyond this; None when a failure only lowers confidence."""
    passed: str
    failed: str
    """Both may show the {value}, as a percentage the {share}, or with its noun the {count}."""
    at_least: bool = False
    """The value must not be lower than the threshold (else: not higher)."""
    remedy: Callable[[Evidence], str] = lambda _: ""
    """What a {remedy} stands for, in `failed`."""
    noun: str = ""
    """What a {count} counts, in the singular."""

    def judge(self, evidence: Evidence) -> tuple[Check, bool]:
        """The check, and whether it makes the trace unusable. What cannot be measured passes."""
        value = self.measure(evidence)
        if value is None:
            return Check(self.id, True, None, self.threshold, "nothing in the window to check"), False
        passed = not self._beyond(value, self.threshold)
        shown = {
            "value": value,
            "share": share(value),
            "count": counted(round(value), self.noun),
            "remedy": "" if passed else self.remedy(evidence),
        }
        message = (self.passed if passed else self.failed).format(**shown)
        message = message if value else message.replace(f"only {share(0.0)} of ", "no ")
        fatal = self.unusable is not None and not passed and self._beyond(value, self.unusable)
        return Check(self.id, passed, value, self.threshold, message), fatal

    def _beyond(self, value: float, bound: float) -> bool:
        return value < bound if self.at_least else value > bound
