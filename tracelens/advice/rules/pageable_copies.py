"""Copies from or to memory that is not pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.patterns import PAGEABLE
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, Rule, per_step_ms, severity
from tracelens.advice.step.often import a_step, often
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category
from tracelens.model.names import named

PINNED_SPEED: Final = 2.0
"""Pageable copies run at about half the speed of pinned ones, through a staging buffer. [literature]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on any copy that the runtime calls pageable; saves half of it where it is exposed."""
    del forms
    kernels = analysis.tables["kernels"]
    pageable = kernels.take(named(analysis.trace, kernels["row"], PAGEABLE))
    if not len(pageable):
        return None
    exposed = min(float(pageable["total_ns"].sum()), float(analysis.attribution.parts["kernel"]["copy"]))
    return Finding(
        RULE.id,
        severity(exposed / max(analysis.attribution.window_ns, 1)),
        _title(analysis),
        per_step_ms(analysis, exposed * (1 - 1 / PINNED_SPEED)),
        tuple(pageable.first(EVIDENCE)["example"]),
        "Keep the host side pinned (the DataLoader has pin_memory=True) and copy with non_blocking=True; pinning it in "
        "the step blocks as well.",
    )


def _title(analysis: Analysis) -> str:
    """The transfers, in the words of what they block."""
    rows = evidence.work(analysis, Category.COPY)
    counts = evidence.counts(analysis, rows[named(analysis.trace, rows, PAGEABLE)])
    told = often(counts, "transfer", " of pageable memory", a_step(analysis))
    return f"{told} {'goes' if counts.max() == 1 else 'go'} through a buffer of the driver's"


RULE: Final = Rule(
    "pageable_copies",
    "Pageable copies",
    "The driver stages pageable memory through its own pinned buffer: the copy is slower and the call blocks.",
    "https://pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    check,
    fix="pin the copies",
    remains=True,
    less_work=True,
)
