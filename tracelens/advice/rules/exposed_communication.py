"""Communication that no computation hides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.late_rank import late_share
from tracelens.advice.rules.rule import EVIDENCE, Rule, device_ms, per_step_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

SHARE: Final = 0.05
"""Share of the window in exposed communication. [judgement]"""
ALONE: Final = (
    "Overlap communication with computation (buckets, prefetch), send less, and compare ranks for a late one."
)
OVERLAP: Final = "Overlap communication with computation (buckets, prefetch), or send less."
"""What is left of that once the ranks have been compared."""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on exposed communication; a long collective may also wait for a late rank, which one trace cannot tell."""
    del forms
    share = analysis.attribution.share("kernel", "communication")
    if share < SHARE:
        return None
    kernels = analysis.tables["kernels"].only("kind", "communication")
    return Finding(
        RULE.id,
        severity(share),
        f"Communication that nothing hides takes {percent(share)} of the traced time",
        max(per_step_ms(analysis, analysis.attribution.parts["kernel"]["communication"]) - _waited(analysis), 0.0),
        tuple(kernels.first(EVIDENCE)["example"]),
        ALONE,
    )


def _waited(analysis: Analysis) -> float:
    """Ms of a step that collectives wait for a late rank, which no overlap of this one's shortens."""
    return late_share(analysis) * device_ms(analysis)


RULE: Final = Rule(
    "exposed_communication",
    "Exposed communication",
    "Neither compile nor replay shortens a collective; overlap does. Kernels that wait for peers count as busy.",
    "https://pytorch.org/docs/stable/notes/ddp.html",
    check,
    fix="overlap the communication",
    remains=True,
    less_work=True,
)
