"""What a rule is: metadata, and a pure check of an analysis and its forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tracelens.advice.results import Finding, Form
from tracelens.analysis.results import Analysis

EVIDENCE = 5
"""Handles that a finding names at most."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for."""

    id: str
    title: str
    why: str
    """Why it costs time, and what the threshold is from."""
    learn_more: str
    """Where the mechanism is documented."""
    check: Callable[[Analysis, Mapping[str, Form]], Finding | None]
    """A finding, or None where it does not apply or the trace does not say."""


def per_step_ms(analysis: Analysis, ns: float) -> float:
    """Ms per counted step of ns over the whole window."""
    return ns / 1e6 / max(len(analysis.window.tiles), 1)


def severity(share: float) -> str:
    """How much a finding matters, by its share of the step: critical from 20 %, warning from 5 %. [judgement]"""
    return "critical" if share >= 0.2 else "warning" if share >= 0.05 else "info"
