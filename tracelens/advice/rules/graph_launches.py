"""The launch of a CUDA Graph itself holds up the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, host_saving_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.events import Role
from tracelens.model.units import counted, duration, percent

SHARE: Final = 0.05
"""Share of the window between the call of a graph launch and its first node. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where the device idles while a graph is launched."""
    share = analysis.attribution.share("launch", "graph")
    rows, mine = evidence.calls(analysis, Role.GRAPH_LAUNCH), evidence.graph_launches(analysis)
    if share < SHARE or not len(mine):
        return None
    nodes, call = int(np.median(mine["kernels"])), int(np.median(mine["ns"]))
    return Finding(
        RULE.id,
        severity(share),
        f"Launching the graph holds up the device for {percent(share)} of the traced time: {duration(call)} for "
        f"{counted(nodes, 'node')}",
        host_saving_ms(analysis, forms, analysis.attribution.parts["launch"]["graph"]),
        evidence.handles(analysis, "l", evidence.longest(analysis, rows)),
        "Launch the next replay before waiting for the last one, so that the launch overlaps work. Many nodes or "
        "branches make it longer: compile before the capture, or split the graph and launch the second half meanwhile.",
    )


RULE: Final = Rule(
    "graph_launches",
    "Slow graph launch",
    "Launching a straight line of nodes costs the host some 2.5 us and 1 ns a node, a graph of many branches or with "
    "communication about 1 us a node: milliseconds for thousands of nodes. The saving is the idle time meanwhile.",
    "https://developer.nvidia.com/blog/constant-time-launch-for-straight-line-cuda-graphs-and-other-performance-enhancements/",
    check,
)
