"""Rules: each finding's metadata and check in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import (
    allocator_churn,
    buffer_broadcast,
    captured_collectives,
    cast_kernels,
    cold_start,
    compiled_pieces,
    compiler_overhead,
    data_loading,
    debugger,
    device_limit,
    doubled_operators,
    exposed_communication,
    few_kernels,
    fusable_chains,
    graph_inputs,
    graph_launches,
    graph_pieces,
    graph_recording,
    hip_graphs,
    host_bound_dispatch,
    host_pause,
    host_work,
    late_rank,
    lost_graph_kernels,
    model_setup,
    optimizer_loop,
    overlapped_waits,
    pageable_copies,
    profiler_idle,
    queue_full,
    queued_idle,
    recompilation,
    sync_points,
    uncalibrated,
    unclear_pauses,
)
from tracelens.advice.rules.rule import Rule, device_ms, now_ms, severity
from tracelens.analysis.results import Analysis

LEAST_MS: Final = 1e-3
"""A step varies by more than a microsecond from one to the next. [judgement]"""
HIDDEN: Final = 0.5
"""Part of a finding's time that a step without the profiler has not, from which that is said. [mostly]"""
HIDDEN_SHARE: Final = 0.05
"""Least share of that step for which it is. [judgement: where a finding is a warning]"""
HIDES: Final = "; without the profiler most of that should hide behind queued work"
RULES: Final[tuple[Rule, ...]] = (
    # The host prepares work too slowly.
    host_bound_dispatch.RULE,
    optimizer_loop.RULE,
    doubled_operators.RULE,
    debugger.RULE,
    # The host does something else.
    host_work.RULE,
    host_pause.RULE,
    data_loading.RULE,
    allocator_churn.RULE,
    # The host waits.
    sync_points.RULE,
    overlapped_waits.RULE,
    queue_full.RULE,
    pageable_copies.RULE,
    # The device works, or waits by itself.
    fusable_chains.RULE,
    cast_kernels.RULE,
    device_limit.RULE,
    queued_idle.RULE,
    # Ranks wait for each other.
    exposed_communication.RULE,
    late_rank.RULE,
    buffer_broadcast.RULE,
    captured_collectives.RULE,
    # Compiled and replayed steps.
    few_kernels.RULE,
    compiler_overhead.RULE,
    compiled_pieces.RULE,
    recompilation.RULE,
    graph_recording.RULE,
    graph_launches.RULE,
    graph_pieces.RULE,
    graph_inputs.RULE,
    hip_graphs.RULE,
    # The recording misleads.
    profiler_idle.RULE,
    cold_start.RULE,
    model_setup.RULE,
    lost_graph_kernels.RULE,
    uncalibrated.RULE,
    unclear_pauses.RULE,
)

__all__ = ["RULES", "Rule", "check_all"]


def check_all(
    analysis: Analysis, forms: Mapping[str, Form], *, judged: bool = True, waits_ms: float = 0.0
) -> tuple[Finding, ...]:
    """Findings of all rules, the largest saving first; those without one worth a word last.

    judged: whether the trace shows a step; else only rules on the recording speak. waits_ms: ms of a step in which the
    device waits for other ranks, where the forms are without them."""
    found = [(rule, rule.check(analysis, forms)) for rule in RULES if judged or rule.of_recording]
    now, device = now_ms(analysis, forms), device_ms(analysis) - waits_ms
    worth = [_worth(rule, finding, now, device) for rule, finding in found if finding is not None]
    return tuple(sorted(worth, key=lambda finding: -(finding.saving_ms or 0.0)))


def _worth(rule: Rule, finding: Finding, now: float | None, device: float) -> Finding:
    """The finding without a saving too small to tell, or larger than the step without the profiler has beside the
    device's own work in ms; as severe as that saving. Of what a busy device hides the title says so."""
    if finding.saving_ms is None:
        return finding
    most = inf if now is None else now if rule.less_work else now - device
    saving = max(min(finding.saving_ms, most), 0.0)
    matters = severity(saving / now) if now else finding.severity
    cut = finding.saving_ms - saving
    hides = rule.can_hide and now is not None and cut > max(HIDDEN * finding.saving_ms, HIDDEN_SHARE * now)
    title = finding.title + (HIDES if hides else "")
    return replace(finding, title=title, saving_ms=None if saving < LEAST_MS else saving, severity=matters)
