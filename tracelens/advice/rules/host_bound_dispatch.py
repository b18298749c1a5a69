"""The device waits for the host to launch the next kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.forms.verdict import candidates, choose
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence, profiler_idle
from tracelens.advice.rules.rule import EVIDENCE, Rule, severity
from tracelens.advice.step.outside import stretches
from tracelens.analysis.results import Analysis
from tracelens.model.intervals import intersect, length
from tracelens.model.units import share as percent

IDLE: Final = 0.3
"""Share of the step in dispatch and launch gaps from which the host is the limit, profiler cost included: untraced
gaps are about half as long. [H200]"""
PARTS: Final = {
    "dispatch": ("framework", "python", "compiler"),
    "launch": ("api", "latency", "graph"),
}
"""Parts that launching less makes shorter: not loaders, allocation and first uses."""
LAUNCH_LESS: Final = "Launch less: replay a CUDA Graph, fuse with torch.compile, or use fused and foreach operators."
REPAIR: Final = "Launch less: larger batches, fused and foreach operators; a CUDA Graph once nothing prevents it."
REPLAY: Final = "Launch less: keep torch.compile and replay its result as a CUDA Graph."
OUTSIDE: Final = "Move host work out from between the replays, or capture more of it: the graph is launched too late."
ADVICE: Final = {"compile": REPLAY, "replay": OUTSIDE, "both": OUTSIDE}
"""By the form that the step has already."""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a step that spends much of its time between launches; saves what the best form would. Silent where
    the idle time is the profiler's own or the host works on something else."""
    idle = _idle(analysis)
    if idle < IDLE or profiler_idle.check(analysis, forms) is not None:
        return None
    shown = [part for parts in PARTS.values() for part in parts]
    longest = analysis.tables["gaps"].only("class", *PARTS).only("part", *shown).largest("ns", EVIDENCE)
    return Finding(
        RULE.id,
        severity(idle),
        f"The device is idle for {percent(idle)} of the traced time while the host prepares launches",
        saving_of(forms),
        tuple(longest["handle"]),
        advice_of(analysis, forms),
    )


def saving_of(forms: Mapping[str, Form]) -> float | None:
    """Ms of eager's step that the fastest form has not; None where they are not known or none is faster."""
    eager = forms["eager"].step_ms
    times = [form.step_ms for form in candidates(forms).values() if form.step_ms is not None]
    gain = eager - min(times) if eager is not None and times else 0.0
    return gain if gain > 0 else None


def advice_of(analysis: Analysis, forms: Mapping[str, Form]) -> str:
    """How to launch less: by another form unless none is worth its trouble."""
    stays = choose(forms) == "eager" and forms["eager"].step_ms is not None
    return ADVICE.get(analysis.form, REPAIR if stays else LAUNCH_LESS)


def _idle(analysis: Analysis) -> float:
    """Share of the window that launching less would shorten."""
    account = analysis.attribution
    whole = sum(account.share(name, part) for name, parts in PARTS.items() for part in parts)
    elsewhere = intersect(stretches(analysis), evidence.idle(analysis, "dispatch.python"))
    return whole - length(elsewhere) / max(account.window_ns, 1)


RULE: Final = Rule(
    "host_bound_dispatch",
    "Host-bound dispatch",
    "Each operator costs the host 5 to 20 us; kernels shorter than that starve the device. Gaps are measured with the "
    "profiler on and are about half as long without it. The saving is eager's time less that of the fastest form, but "
    "leaves the device its time: what fusing makes of that is another finding's.",
    "https://pytorch.org/blog/accelerating-pytorch-with-cuda-graphs/",
    check,
    expects=True,
)
