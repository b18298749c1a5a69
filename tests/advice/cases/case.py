"""A public report as a trace: what its signature is, and what a report must say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.advice.story import Beat, told
from tests.build import TraceBuilder
from tracelens.advice.results import Advice
from tracelens.analysis.results import Analysis

Also = Callable[[Analysis, Advice], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """One report."""

    source: str
    """Where people wrote about it."""
    signature: str
    trace: Callable[[], TraceBuilder]
    verdict: str
    """Verdicts that are right, separated by |."""
    tells: str = ""
    """Rules that must speak."""
    silent: str = ""
    """Rules that must not: where a first look misleads."""
    fails: str = ""
    """Trust checks that must fail."""
    first: str = ""
    """Blockers to repair first."""
    also: Also = lambda analysis, advice: True
    """Anything else that makes the answer right."""


def case(
    source: str, signature: str, *beats: Beat, verdict: str, steps: int = 4, pause: float = 50.0, **expected: object
) -> Case:
    """A case told as the beats of its step."""
    return Case(source, signature, lambda: told(*beats, steps=steps, pause=pause), verdict, **expected)  # type: ignore[arg-type]


def share(analysis: Analysis, class_name: str, part: str | None = None) -> float:
    """Share of the window."""
    return analysis.attribution.share(class_name, part)


def advice_of(advice: Advice, rule: str) -> str:
    """What a finding advises; "" without it."""
    return next((finding.advice for finding in advice.findings if finding.rule == rule), "")


def saving_of(advice: Advice, rule: str) -> float:
    """What a finding may save, in ms."""
    return next((finding.saving_ms or 0.0 for finding in advice.findings if finding.rule == rule), 0.0)


def step_ms(advice: Advice, form: str) -> float:
    """Time of a form; infinite where it cannot run."""
    step = advice.forms[form].step_ms
    return float("inf") if step is None else step
