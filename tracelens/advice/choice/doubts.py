"""How sure the verdict is: the confidence is the product of its factors.

The first, `ranges`, is what the forms' ranges tell: how likely the advised form is within 5 % of each other one or
faster, at most MOST. Each other one is a doubt that holds, and says what it leaves. Of forms that are all measured only
`untold` counts; where the trace is unusable only `unbacked`. From EVEN on, and where all is measured, the verdict is
decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from tracelens.advice.blockers.blockers import VETOES
from tracelens.advice.choice.case import Case
from tracelens.advice.device.facts import facts_of
from tracelens.advice.device.roofline import are_rates_doubtful
from tracelens.advice.forms.verdict import EVEN, candidates, confidence, in_question, shows_one

MOST: Final = 0.95
"""No prediction is surer than this. [judgement]"""
DEGRADED: Final = 0.7
"""Left where a check of the trace's trust fails. [judgement]"""
STRAY: Final = 0.8
"""Left where what would prevent a capture was seen in some of the steps only. [judgement]"""
MIXED: Final = 0.6
"""Left where part of the step is compiled or replayed already. [judgement]"""
UNREPEATED: Final = 0.7
"""Left where the trace shows no step that repeats: one step, one stretch, or the whole as one. [judgement]"""
UNIT: Final = 0.7
"""Left where the step is a unit of launches that repeats, which may be but a layer of it: a part gains what the whole
need not, as kernels fuse across parts. [judgement]"""
BY_NAME: Final = 0.6
"""Left where the step is replayed already, so that kernels are known by name only, without operators. [H200: 3 of 6
such times were over 3 times off]"""
UNTOLD: Final = 0.7
"""Left where the trace does not tell what one of the other forms would take. [judgement]"""
SLOW_RATES: Final = 0.6
"""Left on a slice of a device, and where kernels run far slower than the device should run them: see SLOW, UNEXPLAINED
and MOST_UNEXPLAINED. [judgement]"""
MISPREDICTED: Final = 0.6
"""Left where the measured time of the recorded form is more than MISSED times its prediction, or less than that part
of it. [judgement]"""
UNBACKED: Final = 0.5
"""Left of measured times where the trace is unusable, so that nobody has seen what they are times of. [judgement]"""
UNRELATED: Final = 0.7
"""Left of a verdict for several ranks where nothing shows that the traces are of one job, or their kernels are hardly
alike. [judgement]"""
MISSED: Final = 1.5
"""Measured over predicted time, or the inverse, from which the other predictions are in doubt. [judgement]"""
UNREPEATED_WINDOWS: Final = ("single_step", "whole", "range")
"""Kinds of windows without a step that repeats."""


def factors_of(case: Case, chosen: str) -> dict[str, float]:
    """The factors of the confidence in a chosen form, by name: that of the ranges first, then those of the doubts."""
    likely = min(confidence(case.forms, chosen, case.device_ms), MOST)
    return {"ranges": likely} | doubts(case)


def doubts(case: Case) -> dict[str, float]:
    """What each doubt that holds leaves of the confidence, by its name."""
    if case.joint:
        return dict(case.joint.doubts)
    if case.analysis.trust.level == "unusable":
        return {"unbacked": UNBACKED}
    counts = ("untold",) if _is_measured(case) else tuple(DOUBTS)
    return {name: DOUBTS[name][0] for name in counts if DOUBTS[name][1](case)}


def among(case: Case) -> tuple[str, ...]:
    """The several forms of which one is the best and beats the form in use, the fastest first, where that is as sure as
    a decision has to be; () where the form in use may be as fast, as the ranges have it."""
    possible = in_question(case.forms, case.now)
    sure = MOST * prod(doubts(case).values()) >= EVEN
    return possible if sure and len(possible) > 1 and case.now not in possible else ()


def _is_measured(case: Case) -> bool:
    """Whether all forms in question are measured."""
    return all(form.source == "measured" for form in candidates(case.forms, case.now).values())


def _is_stray(case: Case) -> bool:
    return any(not seen.proven and seen.blocker.id in VETOES for seen in case.observed)


def _is_unrepeated(case: Case) -> bool:
    window = case.analysis.window
    return window.kind in UNREPEATED_WINDOWS or len(window.tiles) == 1


def _is_by_name(case: Case) -> bool:
    return case.now == "replay" and not _is_measured(case)


def _is_untold(case: Case) -> bool:
    """Whether the trace shows some forms but not all."""
    unknown = any(form.is_unknown for form in case.forms.values())
    return unknown and not shows_one(case.forms, case.now)


def _is_slow(case: Case) -> bool:
    facts = facts_of(case.analysis)
    return facts is not None and are_rates_doubtful(facts)


def _is_mispredicted(case: Case) -> bool:
    form = case.forms[case.now]
    if not form.step_ms or form.predicted is None:
        return False
    off = form.predicted[0] / form.step_ms
    return not 1 / MISSED <= off <= MISSED


DOUBTS: Final[Mapping[str, tuple[float, Callable[[Case], bool]]]] = {
    "degraded": (DEGRADED, lambda case: case.analysis.trust.level == "degraded"),
    "stray": (STRAY, _is_stray),
    "mixed": (MIXED, lambda case: case.analysis.form == "mixed"),
    "unrepeated": (UNREPEATED, _is_unrepeated),
    "unit": (UNIT, lambda case: case.analysis.window.kind == "period"),
    "by_name": (BY_NAME, _is_by_name),
    "untold": (UNTOLD, _is_untold),
    "slow_rates": (SLOW_RATES, _is_slow),
    "mispredicted": (MISPREDICTED, _is_mispredicted),
}
# By its name, what a doubt leaves of the confidence, and where it holds.
