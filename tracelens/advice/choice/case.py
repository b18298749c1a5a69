"""What a recommendation is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracelens.advice.blockers.blockers import Observation
from tracelens.advice.choice.snippet import Target
from tracelens.advice.results import Blocker, Form
from tracelens.advice.rules.rule import device_ms
from tracelens.analysis.results import Analysis


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

    @property
    def device_ms(self) -> float:
        """Ms of a step in which the device works, as traced."""
        return device_ms(self.analysis)

    @property
    def stops(self) -> tuple[Blocker, ...]:
        """Blockers that are proof."""
        return tuple(seen.blocker for seen in self.observed if seen.vetoes)
