"""The device idles although its next work is launched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, Rule, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

SHARE: Final = 0.02
"""Share of the window in such gaps. [sound traces: at most 3.2 %; damaged ones: 26 to 50 %]"""
PARTS: Final = ("dependency", "stalled")


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where work waits on the device for more than the usual spacing, or starts long after its launch."""
    del forms
    account = analysis.attribution
    share = account.share("device", "dependency") + account.share("unknown", "stalled")
    if share < SHARE:
        return None
    longest = analysis.tables["gaps"].only("part", *PARTS).largest("ns", EVIDENCE)
    return Finding(
        RULE.id,
        severity(share),
        f"The device idles for {percent(share)} of the traced time although its next work is launched",
        None,
        tuple(longest["handle"]) or evidence.gaps_of(analysis, "device.dependency", "unknown.stalled"),
        "Look for a stream that waits for another or for a copy, and for work that the profiler did not record. The "
        "host is not the cause, so launching less does not help.",
    )


RULE: Final = Rule(
    "queued_idle",
    "Idle with work queued",
    "Idle time with launches in the queue is made on the device: an event or another stream is waited for, or what ran "
    "in between is missing from the trace. Read as host-bound it leads to a CUDA Graph that changes nothing.",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#streams",
    check,
    of_recording=True,
)
