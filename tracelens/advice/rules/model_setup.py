"""The window shows a model being built or filled, not a step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Category
from tracelens.model.units import counted

BUILDING: Final = re.compile(
    r"torch/nn/modules/module\.py\(\d+\): (register_parameter|_load_from_state_dict)|torch/nn/init\.py\(\d+\)"
    r"|\bfrom_pretrained$|\bload_state_dict$"
)
"""Not add_module: a slice of a ModuleList calls it in every forward pass."""
ANNOTATED: Final = ("profiler_step", "annotation")
"""Windows that somebody marked as steps; a unit found by its repetition may be a layer that is filled."""
FRAMES: Final = 20
"""Frames that build modules, in the window; a step builds none. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires on frames that build or fill modules, in a window without repeated steps."""
    del forms
    if analysis.window.kind in ANNOTATED:
        return None
    rows = evidence.spans(analysis, BUILDING, (Category.PYTHON,))
    if len(rows) < FRAMES:
        return None
    return Finding(
        RULE.id,
        "critical",
        f"The window holds the construction of the model: {counted(len(rows), 'call')} that build or fill modules",
        None,
        (),
        "Start the profiler after the model is built and a few steps have run; what this window shows is no step.",
    )


RULE: Final = Rule(
    "model_setup",
    "Model construction in the window",
    "Initialising and copying weights keeps the device busy with kernels that no step has. The share of busy time says "
    "nothing then.",
    "https://pytorch.org/tutorials/recipes/recipes/profiler_recipe.html",
    check,
    of_recording=True,
)
