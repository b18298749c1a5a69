"""The compiler runs inside the counted steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, per_step_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.events import Int64s
from tracelens.model.intervals import intersect, length
from tracelens.model.units import counted, percent

COMPILING: Final = re.compile(
    r"^(?!.*[Gg]raph(Node|ify)).*\(dynamo_timed\)|torch/_dynamo/convert_frame\.py\(\d+\): _?compile"
)
"""Annotations and frames of a compilation, but not of the recording of a graph."""
OFTEN: Final = 0.5
"""Share of at least two steps that compile from which it is no start-up any more. [judgement]"""
STORM: Final = (
    "Something differs at every call: a Python number, a growing or padded shape. TORCH_LOGS=recompiles names the "
    "guard. Pass it as a tensor, mark it dynamic (torch._dynamo.mark_dynamic) or pad to fixed sizes; then compile and "
    "replay."
)
ONCE: Final = "Record after every shape has been compiled: this is start-up, not the steady step."


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on any compilation in the counted steps, and tells one that recurs from a first one."""
    del forms
    rows = evidence.spans(analysis, COMPILING)
    if not len(rows):
        return None
    share, ns = _spent(analysis, rows)
    having, steps = int((evidence.counts(analysis, rows) > 0).sum()), len(analysis.window.tiles)
    recurs = steps > 1 and having > OFTEN * steps
    return Finding(
        RULE.id,
        severity(share),
        f"torch.compile compiles in {having} of {counted(steps, 'counted step')}, for {percent(share)} of the host's "
        "time" + (": every call is compiled anew" if recurs else ""),
        per_step_ms(analysis, ns),
        evidence.handles(analysis, "o", evidence.longest(analysis, rows)),
        STORM if recurs else ONCE,
    )


def _spent(analysis: Analysis, rows: Int64s) -> tuple[float, int]:
    """Share of the counted steps' host time that the rows take, and ns."""
    host = analysis.steps.host
    ns = length(intersect(evidence.spent(analysis, rows), host))
    return ns / max(int(np.diff(host, axis=1).sum()), 1), ns


RULE: Final = Rule(
    "recompilation",
    "Compilation inside the step",
    "Compiled code is valid for what its guards allow; a value or shape that they do not know is compiled again, which "
    "takes seconds. After a few attempts (torch._dynamo.config.recompile_limit) the function runs eagerly. The saving "
    "is the time of the compilations.",
    "https://pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
    check,
    of_recording=True,
)
