"""Findings of a job: each as one of its ranks shows it, with what the job's step saves.

What follows from a comparison of the forms is found anew with those of the job, as its verdict is. A repair is made on
all ranks, as they run one program, and the step is as long as on the longest: the job saves what that one is shorter by
once each rank has saved its own. So a finding is told of the longest rank where that saves, else of the one that saves
the most, and what saves only ranks that then wait is left out unless it is to be repaired first. Of them all, what a
report would say beside this verdict is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracelens.advice.blockers.unproven import unproven
from tracelens.advice.choice.case import Case
from tracelens.advice.choice.first import TELLS, raised
from tracelens.advice.choice.rank import Rank
from tracelens.advice.results import Finding, Form, Recommendation
from tracelens.advice.rules import LEAST_MS, RULES, check_all, exposed_communication, host_bound_dispatch, late_rank
from tracelens.advice.rules.rule import device_ms, severity

COMPARES: Final = frozenset(rule.id for rule in RULES if rule.compares)
HOST: Final = host_bound_dispatch.RULE.id
JOINT: Final = COMPARES | {HOST}
"""Rules whose savings are of the job's forms."""
ADVICE: Final = {exposed_communication.RULE.id: exposed_communication.OVERLAP}
"""By rule, what there is to do once the ranks have been compared."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The job's step in the form in use, in ms without the profiler and without waits for late ranks."""

    now: float
    alone: Mapping[str, float]
    """Each rank's step by itself, by the rank's name."""


def findings_of(
    ranks: Sequence[Rank], longest: Rank, case: Case, advised: Recommendation
) -> tuple[tuple[Finding, Rank], ...]:
    """The findings, the largest saving of the job's step first, each with the rank that shows it.

    case, advised: what all ranks have together, and what is advised for them."""
    order = [longest, *(rank for rank in ranks if rank is not longest)]
    found = {rank.name: _shown(rank, case.forms) for rank in order}
    step = _Step(_ms(case.forms, case.now), {r.name: _ms(r.alone(r.advice.forms), r.now) for r in order})
    shown_by, findings = dict[str, Rank](), list[Finding]()
    first = {TELLS.get(fix.id) for fix in advised.fix_first}
    for rule in (rule.id for rule in RULES if any(rule.id in shown for shown in found.values())):
        having = {rank.name: found[rank.name][rule] for rank in order if rule in found[rank.name]}
        rank = _teller(order, having)
        told = _of_job(having, having[rank.name], step)
        if told.saving_ms or not having[rank.name].saving_ms or rule in first:
            findings.append(told)
            shown_by[rule] = rank
    worth = tuple(sorted(findings, key=lambda finding: -(finding.saving_ms or 0.0)))
    kept = raised(worth, advised, step.now)
    more = unproven(case.observed, kept)
    return (*((one, shown_by[one.rule]) for one in kept), *((one, _with(order, one)) for one in more))


def _shown(rank: Rank, forms: Mapping[str, Form]) -> dict[str, Finding]:
    """What a rank shows, by rule: of its own forms, or of the job's where these are compared."""
    own = check_all(rank.analysis, rank.advice.forms)
    joint = check_all(rank.analysis, forms, waits_ms=rank.waits_ms)
    told = [f for f in own if f.rule not in COMPARES] + [f for f in joint if f.rule in COMPARES]
    shown = {finding.rule: finding for finding in told if finding.rule != late_rank.RULE.id}
    return shown | ({HOST: _host_bound(rank, shown[HOST], forms)} if HOST in shown else {})


def _host_bound(rank: Rank, found: Finding, forms: Mapping[str, Form]) -> Finding:
    """The finding of a rank whose host is the limit, which its own step shows, with what the job's forms save."""
    saving, idle = host_bound_dispatch.saving_of(forms), host_bound_dispatch.IDLE
    most = max(_ms(forms, rank.now) - (device_ms(rank.analysis) - rank.waits_ms), 0.0)
    saving = None if saving is None else min(saving, most)
    advice = host_bound_dispatch.advice_of(rank.analysis, forms)
    return replace(found, saving_ms=saving, advice=advice, severity=severity(idle))


def _teller(order: Sequence[Rank], having: Mapping[str, Finding]) -> Rank:
    """The rank of which a finding is told: the longest, which comes first, where that saves, else that which saves the
    most. What is of the job's forms saves the same on all."""
    known = [rank for rank in order if rank.name in having]
    saves = [having[rank.name].saving_ms or 0.0 for rank in known]
    own = having[known[0].name]
    return known[0] if own.rule in JOINT or (known[0] is order[0] and saves[0]) else known[saves.index(max(saves))]


def _of_job(having: Mapping[str, Finding], told: Finding, step: _Step) -> Finding:
    """The finding of one rank with what the job saves, and as severe as that."""
    told = replace(told, advice=ADVICE.get(told.rule, told.advice))
    if told.saving_ms is None or not step.now:
        return told
    own = {name: finding.saving_ms or 0.0 for name, finding in having.items()}
    shorter = min(step.now - ms + own.get(name, 0.0) for name, ms in step.alone.items())
    saving = max(min(told.saving_ms, step.now) if told.rule in JOINT else shorter, 0.0)
    return replace(told, saving_ms=None if saving < LEAST_MS else saving, severity=severity(saving / step.now))


def _with(order: Sequence[Rank], finding: Finding) -> Rank:
    """The rank whose trace has what the finding names."""
    told = finding.rule, finding.evidence
    return next(rank for rank in order if told in _seen(rank))


def _seen(rank: Rank) -> list[tuple[str, tuple[str, ...]]]:
    """What was observed in a rank's trace, with its handles."""
    return [(seen.blocker.id, seen.blocker.evidence) for seen in (rank.case.observed if rank.case else ())]


def _ms(forms: Mapping[str, Form], name: str) -> float:
    return forms[name].step_ms or 0.0
