"""CUDA Graphs are recorded inside the counted steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Role
from tracelens.model.units import counted

RECORDING: Final = re.compile(r"CUDAGraphNode\.record|torch/_inductor/cudagraph_trees\.py\(\d+\): record_function")
OFTEN: Final = 0.5
"""Share of at least two steps that record from which it is no start-up any more. [judgement]"""
AGAIN: Final = (
    "Each size of an input gets a graph of its own. Pad to a few sizes, or leave those calls to plain torch.compile "
    "(torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True, or mode='default')."
)
ONCE: Final = (
    "Record after the first three calls: the first compiles, the second records the graph, the third replays it."
)


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on a capture or an instantiation in the counted steps, and tells one that recurs from a first one."""
    del forms
    rows = np.concatenate((evidence.calls(analysis, Role.CAPTURE), evidence.spans(analysis, RECORDING)))
    if not len(rows):
        return None
    having, steps = int((evidence.counts(analysis, rows) > 0).sum()), len(analysis.window.tiles)
    recurs = steps > 1 and having > OFTEN * steps
    again = ": they are recorded again and again" if recurs else ""
    return Finding(
        RULE.id,
        "critical" if recurs else "warning",
        f"CUDA Graphs are recorded in {having} of {counted(steps, 'counted step')}{again}",
        None,
        evidence.handles(analysis, "o", rows),
        AGAIN if recurs else ONCE,
    )


RULE: Final = Rule(
    "graph_recording",
    "Graphs recorded inside the step",
    "Under mode='reduce-overhead' the second call of each size records a graph, which takes longer than running it. "
    "A trace of that call shows neither the eager nor the replayed step.",
    "https://pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
    check,
    of_recording=True,
)
