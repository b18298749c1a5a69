"""From an analysis to forms, verdict and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tracelens.advice import constants as C
from tracelens.advice.blockers import Observation, find_blockers
from tracelens.advice.eager import predict_eager
from tracelens.advice.facts import Facts, find_facts
from tracelens.advice.forms import cannot, predict_forms, repaired
from tracelens.advice.reason import reason
from tracelens.advice.recommend import Case, abstain, recommend
from tracelens.advice.region import find_region
from tracelens.advice.results import FORMS, Advice, Form
from tracelens.advice.rules import check_all
from tracelens.advice.stamp import stamped_form, with_stamp
from tracelens.advice.traced import traced_forms
from tracelens.analysis.results import Analysis
from tracelens.model.units import NS_PER_MS

DONE: Final = ("compile", "replay", "both")
HOST_BOUND: Final = 1.2
"""A step this much longer than its device work measures the host. [judgement]"""


def advise(analysis: Analysis) -> Advice:
    """Predicted or measured forms of the step, the verdict that follows from them, and findings.

    A trace without launched device work, or one that its checks call unusable, gets no verdict; its forms have no
    times then."""
    region = find_region(analysis)
    if region is None or analysis.trust.level == "unusable":
        unknown = {name: cannot((), "the trace cannot be judged") for name in FORMS}
        return Advice(with_stamp(unknown, analysis.trace.stamp), abstain(analysis.trust))
    observed = find_blockers(analysis, region)
    facts = _calibrated(analysis, find_facts(region))
    forms, fixed = _forms(analysis, facts, observed)
    recommendation = recommend(_case(analysis, facts, forms, fixed, observed))
    return Advice(forms, recommendation, check_all(analysis, forms))


def _case(
    analysis: Analysis,
    facts: Facts,
    forms: Mapping[str, Form],
    fixed: Mapping[str, Form],
    observed: tuple[Observation, ...],
) -> Case:
    now = analysis.form if analysis.form in DONE else "eager"
    return Case(analysis, forms, observed, fixed, reason(facts), facts.region.training, now)


def _forms(
    analysis: Analysis, facts: Facts, observed: tuple[Observation, ...]
) -> tuple[dict[str, Form], dict[str, Form]]:
    """Forms as the step is, and once its blockers are repaired."""
    stamp = analysis.trace.stamp
    if analysis.form in DONE:
        forms = with_stamp(traced_forms(facts, analysis.form), stamp)
        return forms, forms
    forms = with_stamp(predict_forms(facts, observed), stamp)
    if not any(seen.vetoes for seen in observed):
        return forms, forms
    return forms, predict_forms(replace(facts, region=repaired(facts.region)), ())


def _calibrated(analysis: Analysis, facts: Facts) -> Facts:
    """The facts with the host's speed as a stamped eager step shows it, when the host is what it measured."""
    stamp = analysis.trace.stamp
    measured = with_stamp({"eager": predict_eager(facts).form()}, stamp)["eager"] if _is_eager(stamp) else None
    if measured is None or measured.step_ms is None or measured.predicted is None:
        return facts
    device = facts.span(C.STREAM_SPACING, C.STREAM_SPACING).expected / NS_PER_MS
    if min(measured.step_ms, measured.predicted[0]) < HOST_BOUND * device:
        return facts
    speed = measured.step_ms / measured.predicted[0]
    return replace(facts, region=replace(facts.region, speed=speed))


def _is_eager(stamp: Mapping[str, Any] | None) -> bool:
    return stamped_form(stamp) == "eager"
