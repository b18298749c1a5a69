"""The device waits for the next batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.rule import EVIDENCE, Rule, per_step_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent

SHARE: Final = 0.03
"""Share of the window in data-loader gaps. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when the device idles while the launching thread is in the data loader."""
    del forms
    share = analysis.attribution.share("dispatch", "input")
    if share < SHARE:
        return None
    gaps = analysis.gaps
    return Finding(
        RULE.id,
        severity(share),
        f"The data loader holds up the device for {percent(share)} of the step",
        per_step_ms(analysis, analysis.attribution.parts["dispatch"]["input"]),
        tuple(gaps[gaps["part"] == "input"].nlargest(EVIDENCE, "ns")["handle"]),
        "More workers, prefetch_factor, persistent_workers and pinned memory; neither compile nor replay helps here.",
    )


RULE: Final = Rule(
    "data_loading",
    "Data loading inside the step",
    "Time in the loader is host work without launches; no form of the step removes it.",
    "https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
    check,
)
