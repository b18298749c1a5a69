"""What a recommendation is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracelens.advice.blockers.blockers import Observation
from tracelens.advice.choice.snippet import Target
from tracelens.advice.results import Blocker, Form, Recommendation
from tracelens.advice.rules import late_rank, rule
from tracelens.analysis.results import Analysis


@dataclass(frozen=True, slots=True)
class Joint:
    """What the ranks of a job have together in place of what one trace shows; the forms are then without waits."""

    device_ms: float
    """Ms of a step in which the device of the busiest rank works, as traced, without what it waits for the others."""
    waits_ms: float
    """Ms of a step that the rank whose analysis the case has waits for the others."""
    doubts: Mapping[str, float]
    """What each doubt leaves of the confidence, by its name."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a recommendation is made from."""

    analysis: Analysis
    forms: Mapping[str, Form]
    observed: tuple[Observation, ...]
    fixed: Mapping[str, Form]
    """The forms once the blockers are repaired."""
    reason: str
    """What bounds the step now, as a sentence."""
    target: Target = field(default_factory=Target)
    """The step, for the code."""
    now: str = "eager"
    """The form in use: eager where that was measured, else the one that the trace runs in."""
    joint: Joint | None = None
    """Of all ranks of a job; None of a single trace."""

    @property
    def device_ms(self) -> float:
        """Ms of a step in which the device works, as traced."""
        return self.joint.device_ms if self.joint else rule.device_ms(self.analysis)

    @property
    def late_share(self) -> float:
        """Share of the forms' times that collectives wait for a late rank."""
        return 0.0 if self.joint else late_rank.late_share(self.analysis)

    @property
    def stops(self) -> tuple[Blocker, ...]:
        """Blockers that are proof, each with all that is to be repaired of it."""
        return tuple(blocker for seen in self.observed if seen.vetoes for blocker in seen.repairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned(Recommendation):
    """A recommendation with what it is made from."""

    case: Case = field(compare=False, repr=False)
