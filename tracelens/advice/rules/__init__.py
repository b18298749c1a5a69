"""Rules: each finding's metadata and check in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import (
    allocator_churn,
    cold_start,
    data_loading,
    device_limit,
    exposed_communication,
    fusable_chains,
    host_bound_dispatch,
    pageable_copies,
    sync_points,
)
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis

RULES: Final[tuple[Rule, ...]] = (
    host_bound_dispatch.RULE,
    sync_points.RULE,
    pageable_copies.RULE,
    allocator_churn.RULE,
    data_loading.RULE,
    cold_start.RULE,
    exposed_communication.RULE,
    fusable_chains.RULE,
    device_limit.RULE,
)

__all__ = ["RULES", "Rule", "check_all"]


def check_all(analysis: Analysis, forms: Mapping[str, Form]) -> tuple[Finding, ...]:
    """Findings of all rules, the largest saving first; those without an estimate last."""
    found = [rule.check(analysis, forms) for rule in RULES]
    return tuple(sorted((f for f in found if f is not None), key=lambda finding: -(finding.saving_ms or 0.0)))
