"""Replay is advised on a platform where graphs gain less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.forms import REPLAYED


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a HIP trace of an eager or compiled step that replay should make faster."""
    times = {name: form.step_ms for name, form in forms.items() if form.step_ms is not None}
    now = times.get("eager", times.get("compile"))
    replayed = [times[name] for name in REPLAYED if name in times]
    if analysis.trace.vendor != "hip" or analysis.form in REPLAYED or now is None or not replayed:
        return None
    if min(replayed) >= now:
        return None
    return Finding(
        RULE.id,
        "warning",
        "HIP graphs were not calibrated: they have been seen to gain nothing, and with old ROCm to lose",
        None,
        (),
        "Measure a replayed step on this device before changing code for it.",
    )


RULE: Final = Rule(
    "hip_graphs",
    "Graphs on HIP",
    "The cost of a graph launch and of its nodes was measured on an NVIDIA device. Users of HIP graphs report from no "
    "gain to twice the overhead of launches on old ROCm, and a pause at the end of each graph. The ranges are wider "
    "there for the same reason.",
    "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/hipgraph.html",
    check,
    compares=True,
)
