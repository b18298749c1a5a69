"""The host works outside PyTorch inside the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, host_saving_ms, severity
from tracelens.advice.step.outside import comes_back, mainly_computing, stretches
from tracelens.analysis.results import Analysis
from tracelens.model.events import Int64s
from tracelens.model.intervals import length, longest_first
from tracelens.model.units import counted, duration, percent

SHARE: Final = 0.03
"""Share of the window in such stretches. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where the device idles in most steps while no operator runs, or one that computes on the host: pre- and
    post-processing, a scheduler, messages between processes."""
    found = stretches(analysis)
    window = analysis.attribution.window_ns
    if not window or length(found) < SHARE * window or not comes_back(analysis, found):
        return None
    share = length(found) / window
    by_length = longest_first(found)
    return Finding(
        RULE.id,
        severity(share),
        _told(analysis, found, by_length[0], share),
        host_saving_ms(analysis, forms, length(found)),
        evidence.gaps_at(analysis, by_length[:, 0]),
        "Move it out of the step, to a worker process or onto the device, or launch the next step before it: neither "
        "compile nor replay removes it.",
    )


def _told(analysis: Analysis, found: Int64s, longest: Int64s, share: float) -> str:
    """The title: what the host does, for how long, and the Python frame or the operator that does."""
    times = counted(len(found), "stretch", "stretches")
    times = f"{percent(share)} of the traced time: {times} of up to {duration(int(longest[1] - longest[0]))}"
    if operator := mainly_computing(analysis, found):
        return f"Operators compute on the host for {times}, mostly {operator}"
    frame = evidence.frame_at(analysis, int(longest.sum()) // 2)
    doing = f", the longest in {frame}" if frame else ""
    return f"The host works outside PyTorch for {times} without an operator{doing}"


RULE: Final = Rule(
    "host_work",
    "Host work outside PyTorch",
    "Tokenizers, image processing, schedulers and messages between processes run between the operators, and operators "
    "of tensors in the host's memory compute there. In the account this is dispatch, but there is nothing to launch: "
    "no form of the step makes it shorter. The saving is its time.",
    "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#general-optimizations",
    check,
    fix="move the host work out",
    remains=True,
    can_hide=True,
)
