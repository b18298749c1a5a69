"""The device waits for the next batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules.lost_time import lost_time
from tracelens.advice.rules.rule import Rule
from tracelens.analysis.results import Analysis

SHARE: Final = 0.03
"""Share of the window in data-loader gaps. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires when the device idles while the launching thread is in the data loader."""
    return lost_time(
        analysis,
        forms,
        RULE.id,
        "dispatch.input",
        SHARE,
        "The data loader holds up the device for {share} of the traced time",
        "More workers, prefetch_factor, persistent_workers and pinned memory; neither compile nor replay helps here.",
    )


RULE: Final = Rule(
    "data_loading",
    "Data loading inside the step",
    "Time in the loader is host work without launches; no form of the step removes it.",
    "https://pytorch.org/docs/stable/data.html#multi-process-data-loading",
    check,
    fix="load ahead",
    remains=True,
    can_hide=True,
)
