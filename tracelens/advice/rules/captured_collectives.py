"""A graph that is advised would hold collectives, which all ranks must then replay alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.forms.verdict import choose
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, Rule
from tracelens.advice.step.often import a_step
from tracelens.analysis.results import Analysis
from tracelens.model.forms import REPLAYED
from tracelens.model.units import counted


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a step with collectives for which a replay is advised that it has not yet."""
    kernels = analysis.tables["kernels"].only("kind", "communication")
    if not len(kernels) or analysis.form in REPLAYED or choose(forms) not in REPLAYED:
        return None
    count = max(round(int(kernels["count"].sum()) / max(len(analysis.window.tiles), 1)), 1)
    return Finding(
        RULE.id,
        "warning",
        f"The graph would hold {counted(count, 'collective')} {a_step(analysis)}: every rank has to capture and replay "
        "them alike",
        None,
        tuple(kernels.first(EVIDENCE)["example"]),
        "Run the collectives before the capture, capture on all ranks, and replay in step; a rank that skips a replay "
        "hangs the others. Or capture only what lies between the collectives.",
    )


RULE: Final = Rule(
    "captured_collectives",
    "Collectives in a graph",
    "NCCL collectives can be captured, but a replay launches the whole sequence: ranks whose control flow differs, or "
    "that time out one by one, wait for ever. One trace shows one rank and cannot tell whether the others agree.",
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/cudagraph.html",
    check,
    compares=True,
)
