"""The recommendation: verdict, what it gains, how sure it is, and what to repair first."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracelens.advice.blockers import COSTLY, VETOES
from tracelens.advice.case import Case
from tracelens.advice.communication import comes_first
from tracelens.advice.facts import facts_of
from tracelens.advice.results import AfterFix, Blocker, Form, Recommendation
from tracelens.advice.roofline import are_rates_doubtful
from tracelens.advice.rules.late_rank import late_share
from tracelens.advice.snippet import code
from tracelens.advice.summary import summary
from tracelens.advice.verdict import (
    TOLERANCE,
    candidates,
    choose,
    confidence,
    is_decided,
    shows_one,
    speedup,
    verdict_of,
)
from tracelens.analysis.results import Trust
from tracelens.model.units import milliseconds

WORTH_REPAIR: Final = 0.9
"""A repair is proposed first when what it allows takes less than this share of what runs now. [judgement]"""
TRUST_FACTOR: Final = {"ok": 1.0, "degraded": 0.7}
"""Confidence left by the trace's trust. [judgement]"""
UNBACKED_FACTOR: Final = 0.5
"""Confidence left to measured times that no usable trace backs. [judgement]"""
STRAY_FACTOR: Final = 0.8
"""Confidence left when what would prevent a capture was seen in some steps only. [judgement]"""
UNREPEATED: Final = ("single_step", "whole", "range")
"""Windows without a step that repeats."""
WHOLE_FACTOR: Final = 0.7
"""Confidence left when the trace shows no repeated step. [judgement]"""
MOST: Final = 0.95
"""No prediction is surer than this. [judgement]"""
UNSEEN_FACTOR: Final = 0.6
"""Confidence left when kernels would be fused that a trace without operators tells by name only. [H200: 3 of 6 such
times were over 3 times off]"""
UNKNOWN_FACTOR: Final = 0.7
"""Confidence left when the trace does not show what one of the other forms would take. [judgement]"""
MISSED: Final = 1.5
"""A measured time that the prediction misses by more than this factor casts doubt on the others. [judgement]"""
MISSED_FACTOR: Final = 0.6
"""Confidence left then. [judgement]"""
WILD: Final = 10.0
"""Measured steps of one form that differ by more than this factor decide nothing. [judgement; H200: up to 2]"""
SLOW_FACTOR: Final = 0.6
"""Confidence left on a slice of a device, and when kernels run far slower than the device should run them.
[judgement]"""
MIXED_FACTOR: Final = 0.6
"""Confidence left when part of the step is already compiled or replayed. [judgement]"""


def recommend(case: Case) -> Recommendation:
    """A recommendation that follows from the case's forms; none where what was measured of them decides nothing."""
    chosen = _chosen(case)
    wild = [name for name in (case.now, chosen) if _is_wild(case.forms[name])]
    if wild:
        return abstain(case.analysis.trust, _differs(wild[0], case.forms[wild[0]]))
    verdict = verdict_of(chosen, case.now)
    likely = confidence(case.forms, chosen, case.device_ms)
    after, sure = _after_fix(case, chosen), round(min(likely, MOST) * _doubt(case), 2)
    first = _first(case, after)
    return Recommendation(
        verdict=verdict,
        speedup=speedup(case.forms, chosen, case.now),
        confidence=sure,
        summary=summary(case, chosen, after, first, sure),
        snippet=_code(case, chosen, after),
        fix_first=first,
        after_fix=after,
        evidence=tuple(h for seen in case.observed if seen.first or seen.raises for h in seen.blocker.evidence),
        decided=is_decided(case.forms, case.now, sure),
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


def _doubt(case: Case) -> float:
    """What the trace takes from the confidence; nothing from that of a measurement, unless the trace is unusable: then
    the measured times stand alone, and what they are times of nobody has seen."""
    if case.analysis.trust.level == "unusable":
        return UNBACKED_FACTOR
    unknown = UNKNOWN_FACTOR if _is_part_unknown(case) else 1.0
    if all(form.source == "measured" for form in candidates(case.forms, case.now).values()):
        return unknown
    stray = any(not seen.proven and seen.blocker.id in VETOES for seen in case.observed)
    mixed = MIXED_FACTOR if case.analysis.form == "mixed" else 1.0
    window = case.analysis.window
    whole = WHOLE_FACTOR if window.kind in UNREPEATED or len(window.tiles) == 1 else 1.0
    unseen = UNSEEN_FACTOR if case.now == "replay" else unknown
    facts = facts_of(case.analysis)
    slow = SLOW_FACTOR if facts and are_rates_doubtful(facts) else 1.0
    told = mixed * whole * unseen * slow * (MISSED_FACTOR if _is_missed(case.forms[case.now]) else 1.0)
    return TRUST_FACTOR[case.analysis.trust.level] * (STRAY_FACTOR if stray else 1.0) * told


def _is_part_unknown(case: Case) -> bool:
    """Whether the trace shows some forms but not all."""
    return any(form.is_unknown for form in case.forms.values()) and not shows_one(case.forms, case.now)


def _is_missed(form: Form) -> bool:
    """Whether the time of the recorded form was measured and its prediction is far off."""
    if not form.step_ms or form.predicted is None:
        return False
    off = form.predicted[0] / form.step_ms
    return not 1 / MISSED <= off <= MISSED


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
    return AfterFix(verdict_of(best, case.now), then.step_ms, (1 - late_share(case.analysis)) * low, high, then.terms)


def _first(case: Case, after: AfterFix | None) -> tuple[Blocker, ...]:
    """What to repair before anything else, the dearest first: what prevents a better form, and what costs most of the
    step in any form."""
    dear = sorted((seen for seen in case.observed if seen.share >= COSTLY), key=lambda seen: -seen.share)
    return (*(seen.blocker for seen in dear), *(case.stops if after else ()))


def _code(case: Case, chosen: str, after: AfterFix | None) -> str:
    """The code for now and, where repairs allow another, the code for then, each under a line that says which."""
    form, whole = case.forms[chosen], replace(case.target, module="")
    now = code(verdict_of(chosen, case.now), form.variant, case.target if form.source == "measured" else whole)
    if after is None:
        return now
    name = after.verdict if after.verdict != "neither" else case.now
    then = code(after.verdict, case.fixed[name].variant, replace(whole, changing_shapes=False))
    if not then or then == now:
        return now
    return (f"# as the step is now\n{now}\n" if now else "") + f"# once it is repaired\n{then}"
