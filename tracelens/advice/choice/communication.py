"""Communication that comes before another form: it takes what neither the compiler nor a graph shortens."""

from __future__ import annotations

from tracelens.advice.blockers.blockers import COSTLY
from tracelens.advice.choice.case import Case
from tracelens.advice.forms.verdict import HOST_BOUND
from tracelens.advice.rules import rule


def exposed(case: Case) -> float:
    """Share of the step without the profiler in communication that nothing hides, which takes the device as long as
    traced."""
    now = case.forms[case.now].step_ms
    spent_ms = rule.per_step_ms(case.analysis, case.analysis.attribution.parts["kernel"]["communication"])
    waits_ms = case.joint.waits_ms if case.joint else 0.0
    return min(max(spent_ms - waits_ms, 0.0) / now, 1.0) if now else 0.0


def comes_first(case: Case, chosen: str) -> bool:
    """Whether much communication is exposed in a step that the device sets, and the chosen form may gain nothing.

    How long a collective takes beside other kernels was measured in no step that the constants come from, so that
    such a gain has to be beyond the form's range."""
    now, then = case.forms[case.now], case.forms[chosen]
    if chosen == case.now or exposed(case) < COSTLY or "measured" in (now.source, then.source):
        return False
    if now.step_ms is None or then.high is None:
        return False
    return now.step_ms <= HOST_BOUND * case.device_ms and then.high >= now.step_ms
