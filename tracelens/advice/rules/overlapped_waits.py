"""The host waits long for a device that is busy all the while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, Rule
from tracelens.analysis.results import Analysis
from tracelens.analysis.waits import repeated
from tracelens.model.intervals import length
from tracelens.model.units import counted, percent

SHARE: Final = 0.1
"""Share of the window that waits take on the host before they are worth explaining. [judgement]"""
BUSY: Final = 0.8
"""Share of that time in which the device works. [judgement]"""
HARMLESS: Final = 0.05
"""Share of the window that removing all waits may save at most. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on long waits that cost little: the device works meanwhile, and would take as long without them."""
    del forms
    syncs, window = analysis.tables["syncs"], analysis.attribution.window_ns
    if not len(syncs) or not window:
        return None
    spent, busy = float(syncs["ns"].sum()), float(syncs["busy_overlap_ns"].sum())
    if spent < SHARE * window or busy < BUSY * spent or float(syncs["saving_high_ns"].sum()) >= HARMLESS * window:
        return None
    waits = len(syncs) - int(repeated(analysis.trace, syncs["row"]).sum())
    takes, share = "takes" if waits == 1 else "take", length(evidence.spent(analysis, syncs["row"])) / window
    return Finding(
        RULE.id,
        "info",
        f"{counted(waits, 'wait')} {takes} the host {percent(share)} of the traced time, and the device "
        f"works for {percent(busy / spent)} of that",
        None,
        tuple(syncs.largest("ns", EVIDENCE)["handle"]),
        "Do not count it as lost: a wait for work that has to be done ends no sooner. It matters only where it stands "
        "in the way of a capture.",
    )


RULE: Final = Rule(
    "overlapped_waits",
    "Waits that overlap work",
    "A synchronisation, a blocking copy or an operator such as aten::item shows the time in which the host waits, "
    "however busy the device is. What a wait costs is the idle time after it, when the queue has run empty.",
    "https://pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution",
    check,
)
