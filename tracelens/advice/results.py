"""What is advised: predicted or measured forms, blockers, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracelens.advice.terms import Terms

NO_GRAPH = "no_graph"
"""Id of the blocker of a form that the compiler was asked for and made no graph of."""
VERDICTS = ("compile", "replay", "both", "neither", "abstain")


@dataclass(frozen=True, slots=True)
class Blocker:
    """Something in the trace that prevents a form, or limits it until it is repaired."""

    id: str
    """"sync", "allocation", "host_input", "pageable_copy", "changing_shapes", "changing_kernels", "host_work", ..."""
    message: str
    where: str | None
    """The user's file and line, or the operator; None where the trace does not say."""
    per_step: float | None
    """None where nobody counted."""
    advice: str
    """The repair in PyTorch terms."""
    evidence: tuple[str, ...] = ()
    """Handles."""


@dataclass(frozen=True, slots=True)
class Form:
    """How long a step takes in one form; times in ms. The report's form object has these keys."""

    step_ms: float | None
    """Median; None when the form cannot run."""
    low: float | None
    high: float | None
    source: str
    """"measured" or "predicted"."""
    variant: str | None = None
    region_ms: float | None = None
    steps: int | None = None
    blockers: tuple[Blocker, ...] = ()
    predicted: tuple[float, float, float] | None = None
    """(step_ms, low, high) of the prediction beside a measurement."""
    terms: Terms | None = None
    """What the predicted time is made of."""
    setup_s: float | None = None
    break_even_steps: float | None = None
    peak_mib: float | None = None
    reserved_mib: float | None = None
    traced_over_untraced: float | None = None
    outputs: str = "unchecked"
    """"match", "differ" or "unchecked"."""
    largest_error: float | None = None
    error: str | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether neither the trace nor a measurement tells of it, not even that it cannot run."""
        return self.step_ms is None and self.source == "predicted" and not self.blockers

    @property
    def did_nothing(self) -> bool:
        """Whether the step was compiled to nothing, so that its time is one of eager's."""
        return any(blocker.id == NO_GRAPH for blocker in self.blockers)


@dataclass(frozen=True, slots=True)
class Range:
    """A number with what it may as well be."""

    mid: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AfterFix:
    """What the best form would be once the blockers are repaired."""

    verdict: str
    step_ms: float
    low: float
    high: float
    terms: Terms | None = None
    """What the time is made of."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth knowing about the step, by saving."""

    rule: str
    severity: str
    """"info", "warning" or "critical"."""
    title: str
    saving_ms: float | None
    evidence: tuple[str, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The verdict, following from the forms."""

    verdict: str
    speedup: Range | None
    """Over eager (or the trace's own form); None when abstaining."""
    confidence: float
    summary: str
    """One or two plain sentences."""
    snippet: str
    """A few lines of torch code that apply the verdict; "" when there is nothing to apply."""
    fix_first: tuple[Blocker, ...] = ()
    after_fix: AfterFix | None = None
    evidence: tuple[str, ...] = ()
    decided: bool = True
    """False where the verdict is a guess, more likely wrong than right, or there is none."""
    among: tuple[str, ...] = ()
    """Where the verdict is a guess, yet surely a form pays: those of which one is the best, the fastest first."""
    factors: Mapping[str, float] = field(default_factory=dict[str, float])
    """What the confidence is the product of, by name: what the ranges tell, and what each doubt leaves of that."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Forms, verdict and findings for one analysis."""

    forms: dict[str, Form]
    """All four of FORMS."""
    recommendation: Recommendation
    findings: tuple[Finding, ...] = field(default=())
