"""The host waits for the device inside the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.blockers.scaler import wait_repair
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, Rule, host_saving_ms, severity
from tracelens.advice.step.inner_waits import inner_waits
from tracelens.advice.step.often import a_step, often
from tracelens.advice.step.outside import stretches
from tracelens.analysis.results import Analysis
from tracelens.analysis.waits import repeated
from tracelens.model.intervals import length
from tracelens.model.units import counted

MEANINGFUL: Final = 0.005
"""Share of the window that removing all waits must be able to save before they are worth naming. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when waits drain the queue; waits that overlap a busy device cost nothing and stay silent."""
    syncs, window = analysis.tables["syncs"], analysis.attribution.window_ns
    if not len(syncs) or not window:
        return None
    elsewhere = length(stretches(analysis))
    high = max(int(syncs["saving_high_ns"].sum()) - elsewhere, 0)
    if high < MEANINGFUL * window:
        return None
    costly = syncs.largest("saving_high_ns", EVIDENCE)
    operator = str(costly["operator"][0] or "")
    return Finding(
        RULE.id,
        severity(high / window),
        f"{_waits(analysis)} the queue" + (f", the costliest in {operator}" if operator else ""),
        host_saving_ms(analysis, forms, high),
        tuple(costly["handle"]),
        wait_repair(analysis, costly["row"][:1], operator),
    )


def _waits(analysis: Analysis) -> str:
    """The waits that a capture would meet, as where they are blockers, and apart from them those around its work."""
    syncs = analysis.tables["syncs"]
    every = evidence.counts(analysis, syncs["row"][~repeated(analysis.trace, syncs["row"])])
    inner = evidence.counts(analysis, syncs["row"][inner_waits(analysis)])
    each = a_step(analysis)
    if inner.mean() < 1:
        return f"{often(every, 'wait', ' for the device', each)} {'drains' if every.max() == 1 else 'drain'}"
    around = round(float((every - inner).mean()))
    more = f" and {counted(around, 'other')}" if around else ""
    return f"{often(inner, 'wait', f' for the device{more}', each)} {'drains' if every.max() == 1 else 'drain'}"


RULE: Final = Rule(
    "sync_points",
    "Sync points",
    "A wait empties the queue; the device idles until the host has launched again. The saving is all idle time that a "
    "host without waits would hide, without the host's work outside PyTorch; less may surely be lost. Waits also "
    "prevent graph capture.",
    "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization",
    check,
    fix="remove the waits",
)
