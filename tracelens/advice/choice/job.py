"""One verdict for the ranks of a job: they run one program, in one form, and wait for each other in collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from tracelens.advice.choice.doubts import MOST
from tracelens.advice.forms.verdict import choose, confidence, is_decided, verdict_of
from tracelens.advice.results import Advice, Form
from tracelens.advice.rules.late_rank import late_share
from tracelens.advice.rules.rule import device_ms
from tracelens.analysis.results import Analysis
from tracelens.model.forms import FORMS

MATTERS: Final = 0.05
"""Share of the job's step from which waits for a late rank are worth a word. [judgement, as of a finding's warning]"""


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank's trace with the advice on it."""

    name: str
    """Its number, or its file where the trace gives none."""
    analysis: Analysis
    advice: Advice
    world: int | None = None
    """How many ranks the job has, where the trace says so."""

    @property
    def now(self) -> str:
        """The form that its step runs in."""
        form = self.analysis.form
        return form if form in FORMS and self.advice.forms[form].step_ms is not None else "eager"

    @property
    def waits_ms(self) -> float:
        """Ms of a step that its collectives wait for later ranks, which no form of this rank shortens."""
        return late_share(self.analysis) * device_ms(self.analysis)


@dataclass(frozen=True, slots=True)
class Job:
    """What is advised for all ranks."""

    verdict: str
    now: str
    """The form that all run in."""
    chosen: str
    confidence: float
    decided: bool
    forms: Mapping[str, Form]
    """Each as long as on the rank that is the longest in it by itself, without what it waits for the others."""
    waits: bool
    """Whether any rank waits for a late one for long."""
    latest: str | None
    """The rank that these wait for; None where none does, or all wait for one that is not given."""


def judge(ranks: Sequence[Rank]) -> Job | None:
    """The verdict for ranks of one job; None where a rank's trace carries none, or they do not run in one form.

    The confidence is as if the ranges held what they say, less by what the most doubtful trace leaves of it."""
    now = {rank.now for rank in ranks}
    if len(now) != 1 or any(rank.advice.recommendation.verdict == "abstain" for rank in ranks):
        return None
    (own,) = now
    forms = {name: _joined([_alone(rank, name) for rank in ranks]) for name in FORMS}
    chosen = choose(forms, own)
    left = min(prod(rank.advice.recommendation.factors.values()) / _by_ranges(rank) for rank in ranks)
    device = max(device_ms(rank.analysis) - rank.waits_ms for rank in ranks)
    sure = round(min(confidence(forms, chosen, device), MOST) * left, 2)
    waits, latest = _latest(ranks, MATTERS * (forms[own].step_ms or 0.0))
    return Job(verdict_of(chosen, own), own, chosen, sure, is_decided(forms, own, sure), forms, waits, latest)


def _latest(ranks: Sequence[Rank], matters: float) -> tuple[bool, str | None]:
    """Whether any rank waits for over so many ms of a step, and the one that it waits for: that which hardly does."""
    waits = any(rank.waits_ms > matters for rank in ranks)
    least = min(ranks, key=lambda rank: rank.waits_ms)
    return waits, least.name if waits and least.waits_ms <= matters else None


def _by_ranges(rank: Rank) -> float:
    """The first factor of its confidence, which the other ones are doubts of."""
    return max(rank.advice.recommendation.factors.get("ranges", 1.0), 1e-9)


def _alone(rank: Rank, name: str) -> Form:
    """A rank's form without what it waits for the others; its range stays as wide for its length."""
    form = rank.advice.forms[name]
    if not form.step_ms:
        return form
    own = max(1 - rank.waits_ms / form.step_ms, 0.0)
    step, low, high = (None if ms is None else own * ms for ms in (form.step_ms, form.low, form.high))
    return replace(form, step_ms=step, low=low, high=high)


def _joined(forms: Sequence[Form]) -> Form:
    """The form as the job has it: it runs where it runs on all ranks, and takes as long as on the longest one."""
    blockers = tuple({blocker.id: blocker for form in forms for blocker in form.blockers}.values())
    lasting = [form for form in forms if form.step_ms is not None]
    if len(lasting) < len(forms):
        lacking = next(form for form in forms if form.step_ms is None)
        return replace(lacking, blockers=blockers)
    longest = max(lasting, key=lambda form: form.step_ms or 0.0)
    low, high = (max(getattr(form, end) or form.step_ms or 0.0 for form in lasting) for end in ("low", "high"))
    return replace(longest, low=low, high=high, blockers=blockers)
