"""One verdict for the ranks of a job: they run one program, in one form, and wait for each other in collectives.

Each form takes the job as long as it takes the rank that is the longest in it, without what that rank waits for the
others: none of it is work. The verdict follows from these times, and from those after the repairs, as that of a single
trace does; a repair that one rank needs all of them need. Its confidence is less by the doubts of the most doubtful
trace, and by that of what shows that these are ranks of one job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final, TypeVar

from tracelens.advice.blockers.blockers import Observation
from tracelens.advice.choice.case import Case, Joint
from tracelens.advice.choice.job_findings import findings_of
from tracelens.advice.choice.rank import Rank
from tracelens.advice.choice.recommend import recommend
from tracelens.advice.forms.pays import with_break_even
from tracelens.advice.results import Blocker, Finding, Form, Recommendation
from tracelens.advice.rules import rule
from tracelens.model.forms import FORMS

T = TypeVar("T")
MATTERS: Final = 0.05
"""Share of the job's step from which waits for a late rank are worth a word. [judgement, as of a finding's warning]"""


@dataclass(frozen=True, slots=True)
class Job:
    """What is advised for all ranks."""

    advised: Recommendation
    now: str
    """The form that all run in."""
    forms: Mapping[str, Form]
    """Each as long as on the rank that is the longest in it by itself, without what it waits for the others."""
    longest: Rank
    """The rank that is the longest in the form in use."""
    findings: tuple[tuple[Finding, Rank], ...]
    """What the ranks show, each with the rank that it is told of; savings are of the job's step."""
    repairs: tuple[tuple[str, ...], ...]
    """Of each thing that is to be repaired first, the names of the ranks that have it."""
    waits: bool
    """Whether any rank waits for a late one for long."""
    latest: str | None
    """The rank that these wait for; None where none does, or all wait for one that is not given."""


def judge(ranks: Sequence[Rank], doubts: Mapping[str, float] | None = None) -> Job | None:
    """The verdict for ranks of one job; None where a rank's trace carries none, or they do not run in one form.

    doubts: what is left of the confidence by each doubt in that they are ranks of one job."""
    cases = [rank.case for rank in ranks if rank.case is not None]
    now = {case.now for case in cases}
    if len(cases) < len(ranks) or len(now) != 1:
        return None
    (own,) = now
    at = max(range(len(ranks)), key=lambda i: ranks[i].alone(cases[i].forms)[own].step_ms or 0.0)
    longest, case = ranks[at], _joint(ranks, cases, at, doubts or {})
    # Handles are of one trace each: those of several mean nothing together.
    advised = replace(recommend(case), evidence=())
    waits, latest = _latest(ranks, MATTERS * (case.forms[own].step_ms or 0.0))
    findings = findings_of(ranks, longest, case, advised)
    repairs = tuple(_having(ranks, cases, fix) for fix in advised.fix_first)
    return Job(advised, own, case.forms, longest, findings, repairs, waits, latest)


def _having(ranks: Sequence[Rank], cases: Sequence[Case], fix: Blocker) -> tuple[str, ...]:
    """The names of the ranks that have to make a repair."""
    told = fix.id, fix.advice, fix.where
    each = [
        {(other.id, other.advice, other.where) for seen in case.observed for other in seen.repairs} for case in cases
    ]
    return tuple(rank.name for rank, known in zip(ranks, each, strict=True) if told in known)


def _joint(ranks: Sequence[Rank], cases: Sequence[Case], at: int, doubts: Mapping[str, float]) -> Case:
    """What the job's recommendation is made from: the case at the longest rank with what all ranks have together."""
    case = cases[at]
    own = min((rank.doubts for rank in ranks), key=lambda found: prod(found.values()))
    busiest = max(rule.device_ms(rank.analysis) - rank.waits_ms for rank in ranks)
    return replace(
        case,
        forms=_of_all([rank.alone(found.forms) for rank, found in zip(ranks, cases, strict=True)]),
        fixed=_of_all([rank.alone(found.fixed) for rank, found in zip(ranks, cases, strict=True)]),
        observed=_observed([seen for found in (case, *cases) for seen in found.observed]),
        target=replace(case.target, changing_shapes=any(found.target.changing_shapes for found in cases)),
        joint=Joint(busiest, ranks[at].waits_ms, {**own, **doubts}),
    )


def _latest(ranks: Sequence[Rank], matters: float) -> tuple[bool, str | None]:
    """Whether any rank waits for over so many ms of a step, and the one that it waits for: that which hardly does."""
    waits = any(rank.waits_ms > matters for rank in ranks)
    least = min(ranks, key=lambda rank: rank.waits_ms)
    return waits, least.name if waits and least.waits_ms <= matters else None


def _observed(seen: Sequence[Observation]) -> tuple[Observation, ...]:
    """What any rank has, each once: as the rank has it that it stops, or costs, the most."""
    worst = _worst(seen, of=lambda found: found.blocker.id, by=_weight)
    return tuple(replace(found, others=_others(found, seen)) for found in worst)


def _others(worst: Observation, seen: Sequence[Observation]) -> tuple[Blocker, ...]:
    """What else of the same any rank has to repair."""
    same = [found for found in seen if found.blocker.id == worst.blocker.id and (found.first or not worst.first)]
    each = {(blocker.advice, blocker.where): blocker for found in (*same, worst) for blocker in found.repairs}
    return tuple(blocker for blocker in each.values() if blocker is not worst.blocker)


def _weight(seen: Observation) -> tuple[bool, bool, float, float]:
    return seen.vetoes, seen.raises, seen.share, seen.blocker.per_step or 0.0


def _of_all(ranks: Sequence[Mapping[str, Form]]) -> dict[str, Form]:
    """The forms of the job, and after how many steps each has paid there: times and set-up may be of other ranks."""
    joined = {name: _joined([forms[name] for forms in ranks]) for name in FORMS}
    return {name: with_break_even(form, joined["eager"]) for name, form in joined.items()}


def _joined(forms: Sequence[Form]) -> Form:
    """The form as the job has it: it runs where it runs on all ranks, and takes as long as on the longest one."""
    blockers = _worst(
        (blocker for form in forms for blocker in form.blockers),
        of=lambda blocker: blocker.id,
        by=lambda blocker: blocker.per_step or 0.0,
    )
    lasting = [form for form in forms if form.step_ms is not None]
    if len(lasting) < len(forms):
        lacking = next(form for form in forms if form.step_ms is None)
        return replace(lacking, blockers=blockers)
    longest = max(lasting, key=lambda form: form.step_ms or 0.0)
    low, high = (max(getattr(form, end) or form.step_ms or 0.0 for form in lasting) for end in ("low", "high"))
    return replace(longest, low=low, high=high, blockers=blockers)


def _worst(rows: Iterable[T], of: Callable[[T], str], by: Callable[[T], Any]) -> tuple[T, ...]:
    """Of each id, by which they are told apart, the first row that weighs the most, in the order of the ids."""
    worst = dict[str, T]()
    for row in rows:
        if by(row) > by(worst.setdefault(of(row), row)):
            worst[of(row)] = row
    return tuple(worst.values())
