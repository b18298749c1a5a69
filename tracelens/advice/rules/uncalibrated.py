"""Predictions were measured on another device or release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.device.facts import facts_of
from tracelens.advice.device.likeness import differences
from tracelens.advice.device.roofline import contradictions, slow_kernels
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis
from tracelens.model.events import Device


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where a form is predicted for a device, vendor or CUDA release that no constant was measured on."""
    if all(form.source == "measured" or form.step_ms is None for form in forms.values()):
        return None
    trace, facts = analysis.trace, facts_of(analysis)
    device = next((known for known in trace.devices if known.id == analysis.device), Device(analysis.device, ""))
    seen = (*slow_kernels(facts), *contradictions(facts)) if facts else ()
    unlike = tuple(dict.fromkeys((*differences(trace, device), *seen)))
    if not unlike:
        return None
    return Finding(
        RULE.id,
        "info",
        f"Ranges are wider: predicted for {' and '.join(unlike)}",
        None,
        (),
        "Measure the forms there: tracelens capture script.py",
    )


RULE: Final = Rule(
    "uncalibrated",
    "Not where predictions were measured",
    "How fast a host launches, what a graph costs and how the compiler fuses was measured on one device with one "
    "release of CUDA and torch. Elsewhere the same rules hold with other numbers; the ranges of step times are wider "
    "by a factor that nobody measured.",
    "https://docs.pytorch.org/docs/stable/torch.compiler.html",
    check,
)
