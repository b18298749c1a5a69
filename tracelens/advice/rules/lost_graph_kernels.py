"""Graph launches whose kernels were not recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category, Role
from tracelens.model.units import counted

LOST: Final = 0.02
"""Share of graph launches without a kernel. [sound traces: 0; an overflowing buffer keeps one replay in many]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where graph launches have no device work: it ran, but the trace does not have it. Steps that lost all of
    theirs are not counted, so all launches of the trace are looked at."""
    del forms
    events = analysis.trace.events
    launches = (events.category == Category.RUNTIME) & (events.role == Role.GRAPH_LAUNCH) & events.complete()
    rows = np.flatnonzero(launches)
    lost = rows[~np.isin(rows, analysis.trace.links.launch)]
    if len(lost) <= LOST * len(rows):
        return None
    return Finding(
        RULE.id,
        "critical",
        f"The kernels of {len(lost)} of {counted(len(rows), 'graph launch', 'graph launches')} are missing",
        None,
        evidence.handles(analysis, "l", lost),
        "Do not believe the idle time: record fewer steps, so that the profiler's buffers hold every node.",
    )


RULE: Final = Rule(
    "lost_graph_kernels",
    "Lost kernels of graphs",
    "A replay writes a record for each node. When the profiler's buffers overflow, whole replays are missing and a "
    "saturated device looks 99 % idle.",
    "https://github.com/pytorch/kineto",
    check,
    of_recording=True,
)
