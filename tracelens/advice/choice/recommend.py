"""The recommendation: verdict, what it gains, how sure it is, and what to repair first."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Final

from tracelens.advice.blockers.blockers import COSTLY
from tracelens.advice.choice.case import Case, Reasoned
from tracelens.advice.choice.communication import comes_first
from tracelens.advice.choice.doubts import among, factors_of
from tracelens.advice.choice.snippet import code
from tracelens.advice.choice.summary import summary
from tracelens.advice.forms.verdict import (
    TOLERANCE,
    choose,
    is_decided,
    speedup,
    verdict_of,
)
from tracelens.advice.results import AfterFix, Blocker, Form, Recommendation
from tracelens.analysis.results import Trust
from tracelens.model.units import milliseconds

WORTH_REPAIR: Final = 0.9
"""A repair is proposed first when what it allows takes less than this share of what runs now. [judgement]"""
GUESSED: Final = "# a guess: measure it before you keep it\n"
WILD: Final = 10.0
"""Measured steps of one form that differ by more than this factor decide nothing. [judgement; H200: up to 2]"""


def recommend(case: Case) -> Recommendation:
    """A recommendation that follows from the case's forms; none where what was measured of them decides nothing."""
    chosen = _chosen(case)
    wild = [name for name in (case.now, chosen) if _is_wild(case.forms[name])]
    if wild:
        return abstain(case.analysis.trust, _differs(wild[0], case.forms[wild[0]]))
    verdict = verdict_of(chosen, case.now)
    factors, after = factors_of(case, chosen), _after_fix(case, chosen)
    sure, first = round(prod(factors.values()), 2), _first(case, after)
    decided = is_decided(case.forms, case.now, sure)
    return Reasoned(
        verdict=verdict,
        speedup=speedup(case.forms, chosen, case.now),
        confidence=sure,
        summary=summary(case, chosen, after, first, sure),
        snippet=_code(case, chosen, after, decided),
        fix_first=first,
        after_fix=after,
        evidence=tuple(h for seen in case.observed if seen.first or seen.raises for h in seen.blocker.evidence),
        decided=decided,
        among=() if decided or verdict == "neither" else among(case),
        factors=factors,
        case=case,
    )


def _chosen(case: Case) -> str:
    """The form to use; the one in use where a costly repair comes first and that is as good as the best form, or
    where communication does."""
    chosen = choose(case.forms, case.now)
    now, then = case.forms[case.now].step_ms, case.forms[chosen].step_ms
    slight = now is not None and then is not None and now <= (1 + TOLERANCE) * then
    costly = slight and any(seen.share >= COSTLY for seen in case.observed)
    return case.now if costly or comes_first(case, chosen) else chosen


def abstain(trust: Trust, reason: str | None = None) -> Recommendation:
    """No recommendation: why, and what to record instead."""
    failed = [check.message for check in trust.checks if not check.passed]
    why = reason or (failed[0] if failed else "The trace shows no step to judge.")
    return Recommendation("abstain", None, 0.0, f"No verdict. {why}", "", decided=False)


def _is_wild(form: Form) -> bool:
    """Whether the measured steps of the form differ beyond use."""
    return form.source == "measured" and bool(form.low and form.high and form.high > WILD * form.low)


def _differs(name: str, form: Form) -> str:
    low, high = form.low or 0.0, form.high or 0.0
    took = f"{milliseconds(low)} to {milliseconds(high)} ms a step"
    return f"{name.capitalize()} took {took} when measured, too unlike to decide: measure longer, on an idle machine."


def _after_fix(case: Case, chosen: str) -> AfterFix | None:
    """The best form after the repairs, if it is worth them. Its low end has no rank be late for the others any more."""
    if not any(seen.first for seen in case.observed):
        return None
    best, dear = choose(case.fixed, case.now), any(seen.share >= COSTLY for seen in case.observed)
    now, then = case.forms[chosen], case.fixed[best]
    if best == case.now and not dear:
        return None
    if now.step_ms is None or then.step_ms is None or then.step_ms >= (1 if dear else WORTH_REPAIR) * now.step_ms:
        return None
    low, high = then.low or then.step_ms, then.high or then.step_ms
    return AfterFix(verdict_of(best, case.now), then.step_ms, (1 - case.late_share) * low, high, then.terms)


def _first(case: Case, after: AfterFix | None) -> tuple[Blocker, ...]:
    """What to repair before anything else, the dearest first: what prevents a better form, and what costs most of the
    step in any form."""
    dear = sorted((seen for seen in case.observed if seen.share >= COSTLY), key=lambda seen: -seen.share)
    costly = (blocker for seen in dear for blocker in seen.repairs)
    return tuple(dict.fromkeys((*costly, *(case.stops if after else ()))))


def _code(case: Case, chosen: str, after: AfterFix | None, decided: bool) -> str:
    """The code for now and, where repairs allow another, the code for then, each under a line that says which; that of
    a guess says that it is one."""
    form, whole = case.forms[chosen], replace(case.target, module="")
    bare = code(verdict_of(chosen, case.now), form.variant, case.target if form.source == "measured" else whole)
    now = bare if decided or not bare else GUESSED + bare
    if after is None:
        return now
    name = after.verdict if after.verdict != "neither" else case.now
    then = code(after.verdict, case.fixed[name].variant, replace(whole, changing_shapes=False))
    if not then or then == bare:
        return now
    return (f"# as the step is now\n{now}\n" if now else "") + f"# once it is repaired\n{then}"
