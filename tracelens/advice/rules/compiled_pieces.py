"""The step runs as several compiled regions instead of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category

REGION: Final = re.compile(r"^Torch-Compiled Region")
DISTRIBUTED: Final = re.compile(r"^DistributedDataParallel\.forward")
PIECES: Final = 3
"""Regions a step from which it is cut up: a forward and a backward pass may be two. [judgement]"""
BUCKETS: Final = (
    "torch.compile cuts the model at the gradient buckets of DistributedDataParallel on purpose, to overlap their "
    "exchange. Where that gains nothing, set torch._dynamo.config.optimize_ddp = False."
)
BREAKS: Final = (
    "Find out what cuts it: TORCH_LOGS=graph_breaks, or fullgraph=True to get an error. Remove prints, .item() and "
    "branches on data; layers compiled one by one on purpose (regional compilation) may stay."
)


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on three or more entries into compiled code a step."""
    del forms
    rows = evidence.spans(analysis, REGION, (Category.OPERATOR, Category.ANNOTATION))
    entries = evidence.counts(analysis, rows).mean() if len(rows) else 0.0
    if entries < PIECES:
        return None
    cut_by_buckets = len(evidence.spans(analysis, DISTRIBUTED, (Category.OPERATOR, Category.ANNOTATION))) > 0
    return Finding(
        RULE.id,
        "info",
        f"The step enters compiled code {entries:.0f} times",
        None,
        evidence.handles(analysis, "o", rows),
        BUCKETS if cut_by_buckets else BREAKS,
    )


RULE: Final = Rule(
    "compiled_pieces",
    "Compiled in pieces",
    "A graph break, a bucket of DistributedDataParallel or a layer compiled on its own each make a region with guards "
    "and wrappers of its own, and nothing fuses across their bounds.",
    "https://pytorch.org/docs/stable/torch.compiler_faq.html#graph-breaks",
    check,
)
