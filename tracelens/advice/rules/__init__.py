"""Rules: each finding's metadata and check in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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

LEAST_MS: Final = 1e-3
"""A step varies by more than a microsecond from one to the next. [judgement]"""
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
    """Findings of all rules, the largest saving first; those without one worth a word last."""
    found = [rule.check(analysis, forms) for rule in RULES]
    worth = [_worth(finding) for finding in found if finding is not None]
    return tuple(sorted(worth, key=lambda finding: -(finding.saving_ms or 0.0)))


def _worth(finding: Finding) -> Finding:
    """The finding without a saving too small to tell."""
    small = finding.saving_ms is not None and finding.saving_ms < LEAST_MS
    return replace(finding, saving_ms=None) if small else finding
