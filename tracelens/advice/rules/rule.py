"""What a rule is: metadata, and a pure check of an analysis and its forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.analysis.results import Analysis
from tracelens.analysis.typical import of_typical_steps
from tracelens.model.units import NS_PER_MS

EVIDENCE = 5
"""Handles that a finding names at most."""
SEVERITIES = ("info", "warning", "critical")
WARNING: Final = 0.05
"""Share of the step from which a finding is a warning. [judgement]"""
CRITICAL: Final = 0.2
"""... and from which it is critical. [judgement]"""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for; its thresholds are the constants of the module that defines it."""

    id: str
    """Also the name of its module."""
    title: str
    why: str
    """Why it costs time, where a first look misleads, and what the saving is."""
    learn_more: str
    """Where the mechanism is documented."""
    check: Callable[[Analysis, Mapping[str, Form]], Finding | None]
    """A finding, or None where it does not apply or the trace does not say."""
    fix: str = ""
    """The repair in a few words, where it helps a step that no form helps."""
    remains: bool = False
    """No form takes away what it costs: its repair is worth as much where a form helps."""
    expects: bool = False
    """The saving is what is expected, the difference of two forms, and not the most that there is to save."""
    compares: bool = False
    """Follows from a comparison of the forms, which the ranks of a job have together."""
    less_work: bool = False
    """Its repair makes the device's own work less, so the step may take less than the device works now."""
    can_hide: bool = False
    """Tells of host work that a device with enough queued does not wait for, so only under the profiler."""
    of_recording: bool = False
    """Tells why a trace may hold no step to judge, and so is checked in such a trace as well."""


def per_step_ms(analysis: Analysis, ns: float) -> float:
    """Ms per counted step of ns over the whole window."""
    return ns / NS_PER_MS / max(len(analysis.window.tiles), 1)


def device_ms(analysis: Analysis) -> float:
    """Ms of a counted step in which the device works, as traced."""
    return per_step_ms(analysis, analysis.attribution.share("kernel") * analysis.attribution.window_ns)


def now_ms(analysis: Analysis, forms: Mapping[str, Form]) -> float | None:
    """The step's time without the profiler in the form that it has; None where it is not known."""
    own = forms[analysis.form].step_ms if analysis.form in forms else None
    return forms["eager"].step_ms if own is None else own


def host_saving_ms(analysis: Analysis, forms: Mapping[str, Form], ns: float) -> float:
    """Ms per step of ns of the traced window that the host takes: less by as much as the step is shorter without the
    profiler."""
    typical, now = of_typical_steps(analysis), now_ms(analysis, forms)
    traced = per_step_ms(typical, typical.attribution.window_ns)
    shorter = 1.0 if now is None or not traced else min(now / traced, 1.0)
    return shorter * per_step_ms(analysis, ns)


def severity(share: float) -> str:
    """How much a finding matters, by the share of the step that it saves, without the profiler; where no saving is
    known, by that of what it tells of; of what is to be repaired first, by what the repairs save together if that is
    more."""
    return "critical" if share >= CRITICAL else "warning" if share >= WARNING else "info"
