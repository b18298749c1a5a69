"""Idle time that the profiler itself makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, device_ms
from tracelens.analysis.results import Analysis
from tracelens.analysis.typical import of_typical_steps
from tracelens.model.units import milliseconds, percent

IDLE: Final = 0.1
"""Share of the traced time in which the device waits for the host. [judgement]"""
LEFT: Final = 0.5
"""Share of the idle time that may be left without the profiler, to call it the profiler's. [mostly]"""
BALANCED: Final = 1.1
"""Length of the step without the profiler, over its device time, up to which the device is busy. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where the traced device idles but the eager step without the profiler takes hardly longer than its
    kernels; a step that is predicted shorter than those counts on more than on a host without a profiler."""
    account, eager = analysis.attribution, forms["eager"].step_ms
    idle = sum(account.share(*part.split(".")) for part in evidence.PREPARING)
    busy = device_ms(of_typical_steps(analysis))
    if eager is None or not busy or idle < IDLE or not busy <= eager <= BALANCED * busy:
        return None
    if 1 - busy / eager > LEFT * idle:
        return None
    other = 1 - account.share("kernel") - idle
    hides = f", and the other {percent(other)} hide behind queued work" if other >= IDLE else ""
    return Finding(
        RULE.id,
        "info",
        f"The idle {percent(idle)} of the traced time are mostly the profiler's{hides}: without it the step takes "
        f"about {milliseconds(eager)} ms, its kernels {milliseconds(busy)} ms",
        None,
        evidence.gaps_of(analysis, *evidence.PREPARING),
        "Do not take the gaps for what replay would save. Measure a step without the profiler to be sure; record "
        "without with_stack and record_shapes to see less of it.",
    )


RULE: Final = Rule(
    "profiler_idle",
    "Idle time made by the profiler",
    "Profiling makes the host 1.3 to 2.7 times slower and leaves the kernels as they are. A step in which the device "
    "is just busy enough shows gaps under the profiler that do not exist without it.",
    "https://pytorch.org/tutorials/recipes/recipes/profiler_recipe.html",
    check,
)
