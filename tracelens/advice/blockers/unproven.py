"""What the trace shows that may stand in a capture's way but does not prove it: findings, not blockers."""

from __future__ import annotations

from typing import Final

from tracelens.advice.blockers.blockers import Observation
from tracelens.advice.results import Finding

TOLD: Final = {
    "host_work": "data_loading",
    "outside_work": "host_work",
    "host_compute": "host_work",
    "allocation": "allocator_churn",
    "pageable_copy": "pageable_copies",
}
"""Rules that tell the same with its cost."""


def unproven(observed: tuple[Observation, ...], findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """A finding for each observation that blocks nothing, unless one of the findings tells it already."""
    told = {finding.rule for finding in findings}
    return tuple(
        Finding(seen.blocker.id, "info", _title(seen), None, seen.blocker.evidence, seen.blocker.advice)
        for seen in observed
        if not (seen.first or seen.raises) and TOLD.get(seen.blocker.id) not in told
    )


def _title(seen: Observation) -> str:
    """The observation as a sentence's head, with its place."""
    message = seen.blocker.message
    where = f" ({seen.blocker.where})" if seen.blocker.where else ""
    return f"May block a capture: {message}{where}"
