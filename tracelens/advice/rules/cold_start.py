"""The window holds first-time work: kernels being loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, Rule, per_step_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

SHARE: Final = 0.02
"""Share of the window in module loading. [no trace of warm steps reaches it]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when launches that load a kernel's module hold up the device."""
    del forms
    share = analysis.attribution.share("launch", "loading")
    if share < SHARE:
        return None
    gaps = analysis.gaps
    return Finding(
        RULE.id,
        severity(share),
        f"Kernels are loaded for the first time for {percent(share)} of the window",
        per_step_ms(analysis, analysis.attribution.parts["launch"]["loading"]),
        tuple(gaps[gaps["part"] == "loading"].nlargest(EVIDENCE, "ns")["handle"]),
        "Record after a few warm-up steps: this is start-up, not the steady step.",
    )


RULE: Final = Rule(
    "cold_start",
    "Cold start in the window",
    "The first launch of a kernel loads its module, which takes milliseconds once; it says nothing on later steps.",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#lazy-loading",
    check,
)
