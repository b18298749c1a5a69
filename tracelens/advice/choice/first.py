"""Findings of what is to be repaired first: they matter as much as what the repair allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracelens.advice.blockers.unproven import TOLD
from tracelens.advice.results import Finding, Recommendation
from tracelens.advice.rules import rule

OF_A_GRAPH: Final = "captured_collectives"
"""The rule that says what a graph would hold."""
OF_COMPILING: Final = "fusable_chains"
"""The rule that says to compile."""
TELLS: Final = {**TOLD, "sync": "sync_points"}
"""By blocker, the rule that tells the same."""
ALLOWS: Final = "; to repair first, as another form then pays"


def raised(findings: tuple[Finding, ...], advised: Recommendation, now: float | None) -> tuple[Finding, ...]:
    """The findings, of which those to repair first are at least as severe as what the repairs save together of the
    step as it is, in ms without the profiler; and say so where that is the gain of another form. None is of compiling
    that is not advised, as where communication comes first, nor of a graph that is not, not even after the repairs."""
    after = advised.after_fix
    if advised.verdict == "neither":
        left = {OF_COMPILING} if after and after.verdict != "neither" else {OF_A_GRAPH, OF_COMPILING}
        findings = tuple(finding for finding in findings if finding.rule not in left)
    if after is None or not now:
        return findings
    rules = {TELLS.get(blocker.id) for blocker in advised.fix_first}
    least, why = rule.severity(1 - after.step_ms / now), "" if after.verdict == "neither" else ALLOWS
    return tuple(_at_least(finding, least, why) if finding.rule in rules else finding for finding in findings)


def _at_least(finding: Finding, least: str, why: str) -> Finding:
    return replace(
        finding, severity=max(finding.severity, least, key=rule.SEVERITIES.index), title=f"{finding.title}{why}"
    )
