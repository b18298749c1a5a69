"""The step is replayed as many small graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Role
from tracelens.model.units import counted

PIECES: Final = 4
"""Graph launches a step. [judgement]"""
NODES: Final = 40
"""Nodes in the median graph below which it is small: its launch and entry cost the host as much as a few dozen
launches. [judgement; PyTorch skips graphs of one kernel]"""
IDLE: Final = 0.05
"""Share of the window in dispatch and launch: on a busy device pieces cost nothing. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on several small graphs a step while the device waits for the host."""
    del forms
    rows, account = evidence.calls(analysis, Role.GRAPH_LAUNCH), analysis.attribution
    mine = evidence.graph_launches(analysis)
    if not len(mine) or account.share("dispatch") + account.share("launch") < IDLE:
        return None
    nodes = float(np.median(mine["kernels"]))
    pieces = float(evidence.counts(analysis, rows).mean())
    if pieces < PIECES or nodes >= NODES:
        return None
    return Finding(
        RULE.id,
        "warning",
        f"The step replays {pieces:.0f} graphs of about {counted(round(nodes), 'node')} each",
        None,
        evidence.handles(analysis, "l", rows),
        "Capture larger parts, or the whole step by hand. Regions compiled one by one need no graphs of their own: "
        "mode='max-autotune-no-cudagraphs', and one capture around them.",
    )


RULE: Final = Rule(
    "graph_pieces",
    "Replayed in small pieces",
    "Each graph has an entry, guards, input copies and a launch of its own: with a few kernels in each, replay costs "
    "what it saves.",
    "https://pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
    check,
)
