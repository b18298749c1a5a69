"""Many copies into static inputs precede each replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import DEVICE_WORK, Int64s, Role
from tracelens.model.forms import REPLAYED

COPIES: Final = 8
"""Copies for each graph launch from which they are worth a word: some 8 us of the host each. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on copies launched one by one in a step that is replayed."""
    del forms
    if analysis.form not in REPLAYED:
        return None
    graphs = evidence.calls(analysis, Role.GRAPH_LAUNCH)
    copies = _copies(analysis) if len(graphs) else graphs
    if len(copies) < COPIES * max(len(graphs), 1):
        return None
    return Finding(
        RULE.id,
        "info",
        f"{len(copies) / len(graphs):.0f} copies into the graph's inputs for each replay, launched one by one",
        None,
        evidence.handles(analysis, "k", copies),
        "Let what produces an input write into the static buffer; mark tensors that keep their address with "
        "torch._dynamo.mark_static_address; copy the rest with one torch._foreach_copy_.",
    )


def _copies(analysis: Analysis) -> Int64s:
    """Rows of the device's copies that no graph launched."""
    trace = analysis.trace
    rows = evidence.work(analysis, *DEVICE_WORK)
    launch = trace.links.launch[rows]
    single = rows[(launch >= 0) & (trace.events.role[launch] != Role.GRAPH_LAUNCH)]
    moves = set(analysis.tables["kernels"].only("kind", "copy")["name"])
    return single[np.isin(trace.events.name[single], [i for i, name in enumerate(trace.names) if name in moves])]


RULE: Final = Rule(
    "graph_inputs",
    "Input copies before each replay",
    "A graph reads fixed addresses, so every input that lies elsewhere is copied first: a launch each, on a host that "
    "replay was meant to relieve. About a quarter of the graphs that torch.compile captures lose by it.",
    "https://pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html#input-mutation-support",
    check,
    less_work=True,
)
