"""Launch calls take long because the queue of launches is full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, per_step_ms
from tracelens.advice.step.often import a_step
from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT, Int64s, Role
from tracelens.model.units import milliseconds

FULL: Final = 900
"""Launches not begun from which a call may wait for room. [HTA documentation: 1,024; 1,012 to 1,022 seen in traces]"""
LONG: Final = 10.0
"""Times the median launch call from which one waits rather than works. [judgement: as in the host's clock]"""
SHARE: Final = 0.02
"""Share of the steps' time in such calls. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on long launch calls made while hundreds of launches wait; a long call on an empty queue is another
    matter (see cold_start)."""
    del forms
    rows = evidence.calls(analysis, Role.LAUNCH, Role.COPY, Role.MEMSET)
    window = analysis.attribution.window_ns
    if not len(rows) or not window:
        return None
    ns = analysis.trace.events.duration[rows]
    waiting = rows[(ns > LONG * float(np.median(ns))) & (queued(analysis, rows) >= FULL)]
    spent = int(analysis.trace.events.duration[waiting].sum())
    if spent < SHARE * window:
        return None
    return Finding(
        RULE.id,
        "info",
        f"The host is far ahead: launch calls wait {milliseconds(per_step_ms(analysis, spent))} ms {a_step(analysis)} "
        "for a full queue",
        None,
        evidence.handles(analysis, "l", evidence.longest(analysis, waiting)),
        "Nothing is to be saved at the launches: the device is the limit. Only less or cheaper device work helps.",
    )


def queued(analysis: Analysis, rows: Int64s) -> Int64s:
    """Calls that each of the calls finds launched on this device but not begun by it."""
    events, launch = analysis.trace.events, analysis.trace.links.launch
    work = np.flatnonzero(events.device_work() & (events.device == analysis.device) & (launch != ABSENT))
    call, first = np.unique(launch[work], return_inverse=True)
    begun = np.full(len(call), np.iinfo(np.int64).max)
    np.minimum.at(begun, first, events.start[work])
    launched = np.searchsorted(np.sort(events.start[call]), events.start[rows], side="left")
    return launched - np.searchsorted(np.sort(begun), events.start[rows], side="right")


RULE: Final = Rule(
    "queue_full",
    "Launch calls wait for a full queue",
    "About a thousand launches fit into the queue; the next call waits until the device has begun one. Summed up, such "
    "calls look like launch overhead, yet they show the opposite: the host is ahead and the device is the limit.",
    "https://hta.readthedocs.io/en/latest/source/features/augmented_counters.html",
    check,
)
