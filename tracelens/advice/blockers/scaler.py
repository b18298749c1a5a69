"""What a GradScaler leaves in a trace, and its wait for the device."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.advice.blockers.repairs import repair
from tracelens.analysis.results import Analysis
from tracelens.model.events import Bools, Category, Int64s, Trace
from tracelens.model.names import bearing, named

CHECK: Final = re.compile(r"^aten::_amp_foreach_non_finite_check_and_unscale_$")
UPDATE: Final = re.compile(r"^aten::_amp_update_scale_$")
SCALES: Final = re.compile(rf"{CHECK.pattern}|{UPDATE.pattern}")
MARK: Final = re.compile(rf"{SCALES.pattern}|^Optimizer\.step#")
"""The scaler's operators, and the step that it lets happen between them."""
FUSED_STEP: Final = re.compile(r"^aten::_fused_(?:adamw?|sgd|adagrad)_$")
"""Steps that read found_inf on the device, so that the scaler never does."""
READ: Final = re.compile(r"_local_scalar_dense|item")
ADVICE: Final = (
    "Spare the GradScaler its .item() of found_inf: give the optimizer fused=True (Adam and AdamW with "
    "capturable=True); where it has none, keep scaler.step and scaler.update out of the capture, or train in bfloat16."
)


def is_scaled(trace: Trace) -> bool:
    """Whether a GradScaler checks gradients or updates its scale."""
    return bool(_found(trace, SCALES).size)


def wait_repair(analysis: Analysis, waits: Int64s, operator: str) -> str:
    """What to do about the waits (rows) of one operator, those of a GradScaler included; "" stands for no operator."""
    if not READ.search(operator) or not len(waits):
        return repair(operator)
    own = _scalers_own(analysis.trace, waits)
    if own.all():
        return ADVICE
    return f"{ADVICE} {repair(operator)}" if own.any() else repair(operator)


def _scalers_own(trace: Trace, waits: Int64s) -> Bools:
    """Mask of the waits between a check of the gradients and the optimizer's step, where the scaler reads found_inf."""
    marks, start = _found(trace, MARK), trace.events.start
    if not len(marks) or _found(trace, FUSED_STEP).size:
        return np.zeros(len(waits), dtype=np.bool_)
    marks = marks[np.argsort(start[marks], kind="stable")]
    last = np.searchsorted(start[marks], start[waits], side="right") - 1
    return (last >= 0) & named(trace, marks, CHECK)[last]


def _found(trace: Trace, pattern: re.Pattern[str]) -> Int64s:
    """Rows of the operators and annotations of a name."""
    return np.flatnonzero(bearing(trace, pattern, Category.OPERATOR, Category.ANNOTATION))
