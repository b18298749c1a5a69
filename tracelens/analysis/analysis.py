"""The whole analysis of one device over one window."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tracelens.analysis.attribution import attribute
from tracelens.analysis.extent import device_ids
from tracelens.analysis.form import find_form
from tracelens.analysis.handles import all_gaps
from tracelens.analysis.recording import elsewhere_share
from tracelens.analysis.results import Analysis, Steps
from tracelens.analysis.steps import find_steps
from tracelens.analysis.tables import gap_table, kernel_table, launch_table, operator_table, sync_table
from tracelens.analysis.timeline import build_timeline
from tracelens.analysis.trust import judge_trust
from tracelens.errors import UsageError
from tracelens.model.events import ABSENT, Trace


def analyze(
    trace: Trace,
    *,
    device: int | None = None,
    step: str | None = None,
    span: tuple[int, int] | Literal["all"] | None = None,
) -> Analysis:
    """Everything known of one device of a trace over one window.

    device: by default the one busiest. step: name of an annotation whose occurrences are the steps; by default
    they are found. span: (start, end) in ns after Trace.base_ns to take as the window instead, or "all" for the
    device's first to its last event.

    Raises UsageError for a device, annotation or span that the trace does not have. A trace without device work
    gives empty tables and trust "unusable"."""
    chosen = _choose(trace, device)
    steps = find_steps(trace, chosen, name=step, span=span)
    steps = replace(steps, notes=(*steps.notes, *_other_devices(trace, steps, chosen)))
    timeline, gaps = build_timeline(trace, chosen, steps.threads)
    attribution = attribute(timeline, steps.window.tiles)
    numbered = all_gaps(trace, {chosen: (timeline, gaps)})
    return Analysis(
        trace=trace,
        device=chosen,
        form=find_form(trace, steps, chosen),
        steps=steps,
        timeline=timeline,
        attribution=attribution,
        trust=judge_trust(trace, steps, timeline, attribution),
        numbered=numbered,
        tables={
            "kernels": kernel_table(trace, steps, chosen),
            "operators": operator_table(trace, steps, chosen),
            "gaps": gap_table(trace, gaps, numbered.numbers(chosen), timeline, steps.window),
            "syncs": sync_table(trace, steps, timeline),
            "launches": launch_table(trace, steps, chosen),
        },
    )


def _choose(trace: Trace, device: int | None) -> int:
    """The device asked for, else the busiest, else ABSENT."""
    at_work = device_ids(trace)
    if device is None:
        return at_work[0] if at_work else ABSENT
    known = sorted({*at_work, *(entry.id for entry in trace.devices)})
    if device not in known:
        there = f"its devices are {', '.join(map(str, known))}" if known else "it has no devices"
        raise UsageError(f"the trace has no device {device}; {there}")
    return device


def _other_devices(trace: Trace, steps: Steps, chosen: int) -> tuple[str, ...]:
    """That other devices ran work too, and whether it is the same steps' or how to judge it."""
    others = sorted(device for device in device_ids(trace) if device != chosen)
    if not others:
        return ()
    named = f"device {others[0]}" if len(others) == 1 else f"devices {', '.join(map(str, others))}"
    if elsewhere_share(trace, steps, chosen):
        return (f"only what device {chosen} does is counted: the same steps launch work on {named} as well",)
    return (f"only device {chosen} is judged; {named} worked as well: choose with --device {others[0]}",)
