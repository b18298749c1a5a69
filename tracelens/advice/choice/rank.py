"""One rank of a job: its trace, the advice on it, and its times without what it waits for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tracelens.advice.choice.case import Case, Reasoned
from tracelens.advice.results import Advice, Form
from tracelens.advice.rules import late_rank, rule
from tracelens.analysis.results import Analysis
from tracelens.loading.runs import Run
from tracelens.model.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank's trace with the advice on it."""

    name: str
    """Its number, or its file where the trace gives none."""
    analysis: Analysis
    advice: Advice
    world: int | None = None
    """How many ranks the job has, where the trace says so."""
    run: Run | None = None
    """The run that the trace belongs to."""

    @property
    def title(self) -> str:
        """What it is called in a sentence: "rank 3", or its file."""
        return f"rank {self.name}" if self.name.isdecimal() else self.name

    @property
    def begun(self) -> str:
        """The same where a sentence begins; a file keeps its name."""
        return self.title.capitalize() if self.name.isdecimal() else self.name

    @property
    def case(self) -> Case | None:
        """What its recommendation is made from; None where it abstains."""
        advised = self.advice.recommendation
        return advised.case if isinstance(advised, Reasoned) else None

    @property
    def now(self) -> str:
        """The form that its step runs in."""
        return self.case.now if self.case else "eager"

    @property
    def waits_ms(self) -> float:
        """Ms of a step that its collectives wait for later ranks, which no form of this rank shortens."""
        return late_rank.late_share(self.analysis) * rule.device_ms(self.analysis)

    @property
    def doubts(self) -> dict[str, float]:
        """What each doubt leaves of the confidence in its verdict, by name."""
        factors = self.advice.recommendation.factors
        return {name: left for name, left in factors.items() if name != "ranges"}

    def alone(self, forms: Mapping[str, Form]) -> dict[str, Form]:
        """Its forms, now or after repairs, without what it waits for the others; ranges stay as wide for the length."""
        return {name: _less(form, self.waits_ms) for name, form in forms.items()}


def _less(form: Form, waits_ms: float) -> Form:
    """The form without so many ms, of what was predicted beside a measurement too; ranges stay as wide for the
    length."""
    if not form.step_ms or not waits_ms:
        return form
    waits_ms = min(waits_ms, form.step_ms)
    own, terms = 1 - waits_ms / form.step_ms, form.terms
    step, low, high = (None if ms is None else own * ms for ms in (form.step_ms, form.low, form.high))
    left = form.predicted and max(1 - waits_ms / form.predicted[0], 0.0)
    predicted = form.predicted and left and tuple(left * ms for ms in form.predicted)
    terms = terms and terms.told("({}) - waits_ns", waits_ns=waits_ms * NS_PER_MS)
    return replace(form, step_ms=step, low=low, high=high, predicted=predicted, terms=terms)
