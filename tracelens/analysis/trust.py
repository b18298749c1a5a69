"""Whether a trace can carry an answer: checks with their thresholds, and what to record instead.

The thresholds were set on about 190 real traces, sound and damaged; each says what it keeps apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tracelens.analysis import damage, recording
from tracelens.analysis.clocks import EARLY, early_share
from tracelens.analysis.extent import device_rows
from tracelens.analysis.no_work import why_nothing_ran
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Attribution, Check, Steps, Timeline, Trust
from tracelens.analysis.rule import Evidence, Rule
from tracelens.analysis.work import work_in_window
from tracelens.model.events import Trace
from tracelens.model.intervals import covered

OVERLAP_NS: Final = 10_000
"""Programmatic dependent launch overlaps kernels of one stream by up to 5 us; damage overlaps them by more."""
ALLOCATING_STEP: Final = 0.01
"""A step that spends less on the allocator does not allocate as the others do."""


def judge_trust(trace: Trace, steps: Steps, timeline: Timeline, attribution: Attribution) -> Trust:
    """All checks, failed ones first; the level is that of the worst."""
    work = work_in_window(trace, steps, timeline.device)
    evidence = Evidence(trace, steps, timeline, attribution, work)
    rules = (*RULES, WAITS_AS_WORK) if trace.vendor == "mtia" else RULES
    judged = [_device_events(evidence)] + [rule.judge(evidence) for rule in rules]
    checks = sorted((check for check, _ in judged), key=lambda check: check.passed)
    fatal = any(unusable for _, unusable in judged)
    level = "unusable" if fatal else "ok" if all(check.passed for check in checks) else "degraded"
    return Trust(level, tuple(checks))


def _device_events(evidence: Evidence) -> tuple[Check, bool]:
    """Its own function because a trace may lack device work for several reasons, with a remedy each."""
    count = len(evidence.work)
    if count:
        return DEVICE_EVENTS.judge(evidence)
    threshold = DEVICE_EVENTS.threshold
    return Check(DEVICE_EVENTS.id, False, 0.0, threshold, why_nothing_ran(evidence.trace, evidence.steps)), True


def _share(*parts: tuple[str, str]) -> Callable[[Evidence], float | None]:
    """Share of the window in these parts, each with its class."""

    def measure(evidence: Evidence) -> float | None:
        attribution = evidence.attribution
        return sum(attribution.share(*part) for part in parts) if attribution.window_ns else None

    return measure


def _linked(evidence: Evidence) -> float | None:
    """Of all the device's work where a range was asked for: a short one may hold none but work launched earlier."""
    trace, is_cut = evidence.trace, evidence.steps.window.kind == "range"
    work = device_rows(trace, evidence.timeline.device) if is_cut and len(evidence.work) else evidence.work
    return recording.linked_share(trace, work[np.argsort(trace.events.start[work], kind="stable")])


def _to_link(evidence: Evidence) -> str:
    """What gives device work its launch records."""
    why = recording.why_unlinked(evidence.trace)
    if why:
        return f"{why}; give the file that export_chrome_trace wrote"
    return "so gaps cannot be explained; record CPU and device activities together and leave the file uncut"


def _to_hold_the_step(evidence: Evidence) -> str:
    """What makes one device's work that of the step."""
    busiest = recording.busiest_device(evidence.trace, evidence.steps, evidence.timeline.device)
    if busiest != evidence.timeline.device:
        return f"judge the one that runs most of it (--device {busiest})"
    return "give each device a process of its own (DistributedDataParallel), or record the step on one device"


def _uneven_allocation(evidence: Evidence) -> float | None:
    """Allocator share of the window if some step does without, else 0."""
    timeline, tiles = evidence.timeline, evidence.steps.window.tiles
    if not evidence.attribution.window_ns:
        return None
    at = np.flatnonzero(timeline.part == Part.DISPATCH_ALLOCATOR)
    pieces = np.column_stack((timeline.start[at], timeline.end[at]))
    allocating = covered(pieces, tiles[:, 0], tiles[:, 1])
    steady = len(tiles) > 1 and np.all(allocating >= ALLOCATING_STEP * (tiles[:, 1] - tiles[:, 0]))
    return 0.0 if steady else evidence.attribution.share("dispatch", "allocator")


def _overlap(evidence: Evidence) -> float | None:
    found = recording.lane_overlap(evidence.trace, evidence.work)
    if found is None:
        return None
    overlapping, longest_ns = found
    return overlapping if longest_ns > OVERLAP_NS else 0.0


def _early_return_us(evidence: Evidence) -> float | None:
    ns = recording.early_return(evidence.trace, evidence.work)
    return None if ns is None else ns / 1000


DEVICE_EVENTS: Final = Rule(
    "device_events",
    lambda evidence: float(len(evidence.work)),
    10,
    None,
    "{count}",
    "only {count} ran in the window: little to judge by; record several steps of the whole workload",
    at_least=True,
    noun="device event",
)
RULES: Final = (
    Rule(
        "merged",  # 0 on every real trace seen
        lambda evidence: recording.merged_share(evidence.trace, evidence.steps, evidence.work),
        0.0,
        0.05,
        "the device's work is that of one process",
        "{share} of device events may be another process's: the file holds several, which number their devices or "
        "calls alike; give the file of one of them, as export_chrome_trace wrote it",
    ),
    Rule(
        "one_device",  # 0 on every real trace seen; a copy to a peer or a metric stays below
        lambda evidence: recording.elsewhere_share(evidence.trace, evidence.steps, evidence.timeline.device),
        0.02,
        0.05,
        "{share} of the work that a step launches runs on other devices",
        "{share} of the work that a step launches runs on other devices, so what one device shows is not the step's; "
        "{remedy}",
        remedy=_to_hold_the_step,
    ),
    Rule(
        "short_launches",  # real traces: at least 1.1 us
        lambda evidence: recording.typical_launch_us(evidence.trace),
        0.4,
        0.2,
        "launch calls take {value:.1f} us in the median",
        "launch calls take {value:.2g} us in the median, as none does: the file's times are not in microseconds; give "
        "the file that export_chrome_trace wrote",
        at_least=True,
    ),
    Rule(
        "long_calls",  # real traces: up to 15 us
        lambda evidence: recording.short_host_us(evidence.trace),
        200.0,
        200.0,
        "a tenth of the operators and calls takes less than {value:.1f} us",
        "only a tenth of the operators and calls takes less than {value:,.0f} us: the file's times are not in "
        "microseconds; give the file that export_chrome_trace wrote",
    ),
    Rule(
        "duplicates",  # 0 on every real trace seen
        lambda evidence: recording.duplicate_share(evidence.trace, evidence.work),
        0.0,
        0.05,
        "no device event is recorded twice",
        "{share} of device events repeat another of the same stream, time and name, so they count twice; give the file "
        "that export_chrome_trace wrote, not one merged from several",
    ),
    Rule(
        "linked",  # sound traces: at least 96.4 %; traces with lost records: 0 and 33 %
        _linked,
        0.90,
        0.50,
        "{share} of device events have a launch record",
        "only {share} of device events have a launch record, {remedy}",
        at_least=True,
        remedy=_to_link,
    ),
    Rule(
        "stalled",  # sound: at most 3.2 %; a stalled profiler or missing streams: 26 to 50 %
        _share(("unknown", "stalled"), ("device", "dependency")),
        0.05,
        0.20,
        "{share} of the window idles with the next work launched: device.dependency and unknown.stalled",
        "{share} of the window idles with the next work launched (device.dependency and unknown.stalled), more than "
        "events explain: records are missing or the profiler stalled; record again, fewer steps and no other profiler",
    ),
    Rule(
        "deferred",  # 0 on every reference trace
        lambda evidence: recording.deferred_share(evidence.trace, evidence.steps, evidence.timeline.device),
        0.10,
        0.50,
        "device work runs before the next step's is over",
        "{share} of the device time runs after the next step's: its stream falls behind the others, or records were "
        "written late, in one burst, so steps cannot be timed; record fewer steps, or judge the whole with --range all",
    ),
    Rule(
        "loading",
        _share(("launch", "loading")),
        0.02,
        0.20,
        "{share} of the window loads kernels",
        "{share} of the window loads kernels at their first use: a cold start; record after warm-up, for example "
        "schedule(wait=1, warmup=3, active=5)",
    ),
    Rule(
        "allocator",
        _uneven_allocation,
        0.05,
        None,
        "the allocator takes its time in every step or hardly any",
        "{share} of the window goes to device allocation, not in every step: the memory pool was still growing; "
        "record after warm-up",
    ),
    Rule(
        "lost_launches",  # stream captures: 39 to 100 %; all others about 0
        lambda evidence: recording.lost_launches(evidence.trace, evidence.steps),
        0.05,
        0.20,
        "{share} of kernel launches have no kernel",
        "{share} of kernel launches have no kernel: captured into a graph or lost; record replays only, after "
        "capture and warm-up",
    ),
    Rule(
        "lost_later",  # sound traces: 0
        lambda evidence: recording.lost_later(evidence.trace, evidence.steps),
        0.05,
        None,
        "{share} of kernel launches behind the counted steps have no kernel",
        "{share} of the kernel launches behind the counted steps have no kernel: the device's records end early; "
        "record fewer steps",
    ),
    Rule(
        "graph_launches",  # a full activity buffer keeps the kernels of one replay in many
        lambda evidence: recording.graph_launches_with_work(evidence.trace, evidence.steps),
        0.50,
        0.50,
        "{share} of graph launches have kernels",
        "only {share} of graph launches have kernels: the activity buffer overflowed; record fewer steps",
        at_least=True,
    ),
    Rule(
        "complete_steps",  # sound traces: all steps
        lambda evidence: recording.complete_steps(evidence.trace, evidence.steps, evidence.timeline.device),
        2,
        None,
        "{count} have all their launches and kernels",
        "steps lack launches or kernels (whole ones: {value:.0f}), so whether they are alike cannot be told; record "
        "fewer steps, and leave the file uncut",
        at_least=True,
        noun="step",
    ),
    Rule(
        "no_operators",
        lambda evidence: recording.operator_count(evidence.trace, evidence.steps),
        1,
        None,
        "{count} recorded",
        "no operators are recorded: all of dispatch counts as python, and what blocks a capture may go unseen; record "
        "with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] (or XPU)",
        at_least=True,
        noun="operator",
    ),
    Rule(
        "operators",  # sound traces: at most 6 %, one where nothing marks the steps 79 %
        lambda evidence: recording.strange_operators(evidence.trace, evidence.steps, evidence.timeline.device),
        0.10,
        None,
        "the same operators launch the same kernels in each step",
        "of the same kernels {share} hang on other operators from step to step: records of operators are missing; "
        "record fewer steps, and leave the file uncut",
    ),
    Rule(
        "building",
        lambda evidence: recording.building_share(evidence.trace, evidence.steps),
        0.0,
        0.05,
        "no capture or compilation in the window",
        "capture or compilation takes {share} of the window; record after warm-up, once every shape was seen",
    ),
    Rule(
        "overlap",
        _overlap,
        0.05,
        0.50,
        "work on one stream overlaps by {share}",
        "{share} of device time overlaps other work of its own stream: device times are damaged; record again, "
        "with a newer driver if it persists",
    ),
    Rule(
        "clock",  # 0 on every trace seen
        lambda evidence: early_share(evidence.trace, evidence.work),
        EARLY,
        None,
        "no kernel starts before its launch",
        "{share} of device events start before their launch: host and device clocks differ; record again",
    ),
    Rule(
        "sync_order",  # one trace in 190, by 8.1 us
        _early_return_us,
        1.0,
        None,
        "device synchronisations return after the work they wait for",
        "a device synchronisation returns {value:.1f} us before its work ends: clocks are off by as much",
    ),
    Rule(
        "step_spread",  # two traces in 190 exceed it, at 1.6 and 2.0
        lambda evidence: recording.step_spread(evidence.steps),
        1.5,
        None,
        "the longest step is {value:.2f} x the shortest",
        "the longest step is {value:.2f} x the shortest: the median may not hold; record more steps after warm-up",
    ),
    Rule(
        "whole",
        lambda evidence: float(recording.losses(evidence.trace)),
        0.0,
        None,
        "the file was read whole",
        "events are missing or wrong: the file is cut short or damaged in {count}; let the profiler finish writing, "
        "then copy it whole",
        noun="place",
    ),
    Rule(
        "times",  # 0 on every real trace seen
        lambda evidence: recording.misplaced_share(evidence.trace, evidence.timeline.device),
        0.01,
        0.10,
        "events have their times",
        "{share} of {remedy} have no usable time: the file was damaged or written by another tool; give the file "
        "that export_chrome_trace wrote",
        remedy=lambda evidence: recording.misplaced_kind(evidence.trace, evidence.timeline.device),
    ),
    Rule(
        "values",  # 0 on every real trace seen
        lambda evidence: damage.unread_share(evidence.trace, evidence.steps, evidence.work),
        0.001,
        0.10,
        "events say what they are",
        "{share} of events are not read in full ({remedy}): the file was damaged or written by another tool; give the "
        "file that export_chrome_trace wrote",
        remedy=lambda evidence: damage.unread(evidence.trace, evidence.steps),
    ),
    Rule(
        "mended",  # 0 on every real trace seen
        lambda evidence: damage.mended_share(evidence.trace, evidence.steps),
        0.01,
        None,
        "events are sound JSON",
        "{share} of events are damaged and read as far as they go, so their times may be cut; give the file that "
        "export_chrome_trace wrote",
    ),
    Rule(
        "durations",  # traces in whole microseconds: at most 7 %
        lambda evidence: recording.instant_share(evidence.trace, evidence.work),
        0.20,
        0.50,
        "device events have their durations",
        "{share} of device events take no time, so device time is not known; record again, with a newer version",
    ),
    Rule(
        "longest",  # real traces: at most 0.5, sound ones 0.4
        lambda evidence: recording.longest_event(evidence.trace, evidence.timeline.device),
        2.0,
        100.0,
        "no device event outlasts the recording",
        "a device event claims {value:,.0f} times as long as was recorded: its duration is broken; give the file that "
        "export_chrome_trace wrote",
    ),
    Rule(
        "dropped",
        lambda evidence: recording.dropped_records(evidence.trace),
        0.0,
        None,
        "the profiler reports no lost records",
        "the profiler reports {count} lost or out of order; record fewer steps",
        noun="record",
    ),
)

WAITS_AS_WORK: Final = Rule(
    "waits_as_work",
    lambda evidence: recording.waits_as_work(evidence.trace, evidence.work),
    0.0,
    None,
    "no wait counts as device work",
    "{share} of the device's time is waits that this accelerator records among its kernels, so the kernel share is "
    "too high and no form's time is sure; compare measured steps instead",
)
"""For the accelerators that do so alone."""
