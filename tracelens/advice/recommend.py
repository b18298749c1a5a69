"""The recommendation: verdict, what it gains, how sure it is, and what to repair first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tracelens.advice.blockers import VETOES, Observation
from tracelens.advice.results import AfterFix, Blocker, Form, Recommendation
from tracelens.advice.snippet import snippet
from tracelens.advice.verdict import candidates, choose, confidence, speedup, verdict_of
from tracelens.analysis.results import Analysis, Trust
from tracelens.model.units import milliseconds

WORTH_REPAIR: Final = 0.9
"""A repair is proposed first when what it allows takes less than this share of what runs now. [judgement]"""
TRUST_FACTOR: Final = {"ok": 1.0, "degraded": 0.7}
"""Confidence left by the trace's trust. [judgement]"""
STRAY_FACTOR: Final = 0.8
"""Confidence left when what would prevent a capture was seen in some steps only. [judgement]"""
WHOLE_FACTOR: Final = 0.7
"""Confidence left when the trace shows no repeated step. [judgement]"""
MOST: Final = 0.95
"""No prediction is surer than this. [judgement]"""
MIXED_FACTOR: Final = 0.6
"""Confidence left when part of the step is already compiled or replayed. [judgement]"""
ACTIONS: Final = {
    "compile": "Use torch.compile",
    "replay": "Replay the step as a CUDA Graph",
    "both": "Use torch.compile and replay the result as a CUDA Graph",
}
COMPILERS_GRAPHS: Final = "Use torch.compile with mode='reduce-overhead'"


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
    training: bool
    now: str = "eager"
    """The form that the trace runs in."""


def recommend(case: Case) -> Recommendation:
    """A recommendation that follows from the case's forms."""
    chosen = choose(case.forms, case.now)
    verdict = verdict_of(chosen, case.now)
    after = _after_fix(case, chosen)
    first = tuple(seen.blocker for seen in case.observed if seen.vetoes) if after else ()
    return Recommendation(
        verdict=verdict,
        speedup=speedup(case.forms, chosen, case.now),
        confidence=round(min(confidence(case.forms, chosen), MOST) * _doubt(case), 2),
        summary=_summary(case, chosen, after, first),
        snippet=snippet(verdict, case.forms[chosen].variant, training=case.training),
        fix_first=first,
        after_fix=after,
        evidence=tuple(handle for seen in case.observed for handle in seen.blocker.evidence),
    )


def abstain(trust: Trust, reason: str | None = None) -> Recommendation:
    """No recommendation: why, and what to record instead."""
    failed = [check.message for check in trust.checks if not check.passed]
    why = reason or (failed[0] if failed else "The trace shows no step to judge.")
    return Recommendation("abstain", None, 0.0, f"No verdict. {why}", "")


def _doubt(case: Case) -> float:
    """What the trace takes from the confidence; nothing from that of a measurement."""
    if all(form.source == "measured" for form in candidates(case.forms, case.now).values()):
        return 1.0
    stray = any(not seen.proven and seen.blocker.id in VETOES for seen in case.observed)
    mixed = MIXED_FACTOR if case.analysis.form == "mixed" else 1.0
    whole = WHOLE_FACTOR if case.analysis.window.kind in ("whole", "range") else 1.0
    return TRUST_FACTOR.get(case.analysis.trust.level, 0.5) * (STRAY_FACTOR if stray else 1.0) * mixed * whole


def _after_fix(case: Case, chosen: str) -> AfterFix | None:
    """The best form after the repairs, if it is worth them."""
    if not any(seen.vetoes for seen in case.observed):
        return None
    best = choose(case.fixed, case.now)
    now, then = case.forms[chosen], case.fixed[best]
    if best == case.now:
        return None
    if now.step_ms is None or then.step_ms is None or then.step_ms >= WORTH_REPAIR * now.step_ms:
        return None
    return AfterFix(verdict_of(best, case.now), then.step_ms, then.low or then.step_ms, then.high or then.step_ms)


def _summary(case: Case, chosen: str, after: AfterFix | None, first: tuple[Blocker, ...]) -> str:
    """One or two plain sentences."""
    why = case.reason
    if after is not None and first:
        then = ACTIONS[after.verdict]
        step = milliseconds(after.step_ms)
        why = f"Repair first: {first[0].message}; then {then[0].lower()}{then[1:]}, about {step} ms."
    if chosen == case.now:
        return f"{_stay(case)} {why}".strip()
    action = COMPILERS_GRAPHS if case.forms[chosen].variant == "reduce-overhead" else ACTIONS[chosen]
    return f"{action}: {_time(case.forms[case.now])} becomes {_time(case.forms[chosen])}. {why}".strip()


def _stay(case: Case) -> str:
    if case.now == "eager":
        return "Neither torch.compile nor CUDA Graph replay would pay as the step is."
    done = {"compile": "compiled", "replay": "replayed", "both": "compiled and replayed"}[case.now]
    return f"The step is already {done}; little is left to gain from the other forms."


def _time(form: Form) -> str:
    return "unknown" if form.step_ms is None else f"{milliseconds(form.step_ms)} ms"
