"""The window holds first-time work: kernels being loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.lost_time import lost_time
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis

SHARE: Final = 0.02
"""Share of the window in module loading. [no trace of warm steps reaches it]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when launches that load a kernel's module hold up the device."""
    return lost_time(
        analysis,
        forms,
        RULE.id,
        "launch.loading",
        SHARE,
        "Kernels are loaded for the first time for {share} of the window",
        "Record after a few warm-up steps: this is start-up, not the steady step. Where first requests matter, warm up "
        "or set CUDA_MODULE_LOADING=EAGER; seconds for one kernel mean that it is built for another architecture.",
    )


RULE: Final = Rule(
    "cold_start",
    "Cold start in the window",
    "The first launch of a kernel loads its module, which takes milliseconds once; it says nothing on later steps.",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#lazy-loading",
    check,
    of_recording=True,
)
