"""DistributedDataParallel sends its buffers in every forward pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, host_saving_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category
from tracelens.model.names import named
from tracelens.model.units import percent

FORWARD: Final = re.compile(r"^DistributedDataParallel\.forward")
BROADCAST: Final = re.compile(r"broadcast", re.IGNORECASE)
COALESCING: Final = re.compile(r"flatten_dense_tensors|^aten::narrow$|broadcast", re.IGNORECASE)


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on broadcasts launched inside DistributedDataParallel.forward in most steps."""
    rows = evidence.work(analysis, Category.KERNEL)
    rows = rows[named(analysis.trace, rows, BROADCAST)]
    sent = rows[evidence.under(analysis, rows, FORWARD)]
    if not len(sent) or not evidence.counts(analysis, sent).all():
        return None
    handling = evidence.spans(analysis, COALESCING, (Category.OPERATOR,))
    handling = handling[evidence.under(analysis, handling, FORWARD)]
    waiting = evidence.idle_ns(analysis, handling, *evidence.PREPARING)
    share = waiting / max(analysis.attribution.window_ns, 1)
    return Finding(
        RULE.id,
        severity(share),
        f"Buffers are broadcast in every forward pass, and the device waits {percent(share)} of the traced time while "
        "the host packs them",
        host_saving_ms(analysis, forms, waiting),
        evidence.handles(analysis, "k", sent),
        "Give DistributedDataParallel broadcast_buffers=False unless ranks need equal buffers (batch-norm statistics); "
        "then judge the step again.",
    )


RULE: Final = Rule(
    "buffer_broadcast",
    "Buffers broadcast in each forward pass",
    "By default DistributedDataParallel flattens all buffers, broadcasts them and copies them back before each forward "
    "pass. The gap lies after a communication kernel, but the host makes it. The saving is the idle time meanwhile.",
    "https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
    check,
    less_work=True,
)
