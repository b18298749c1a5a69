"""How sure the verdict is, and what it is less sure for, read from the report document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracelens.advice.choice.summary import SURE
from tracelens.advice.forms.verdict import TOLERANCE
from tracelens.model import units
from tracelens.reporting.forms import advised_form, unit
from tracelens.reporting.schema import Document
from tracelens.reporting.undecided import is_guess

DOUBTS: Final[Mapping[str, str]] = {
    "degraded": "a trust check fails",
    "stray": "what may prevent a capture is in some steps only",
    "mixed": "part of the step is compiled or replayed already",
    "unrepeated": "no step repeats",
    "unit": "the unit that repeats may be part of the step",
    "by_name": "kernels are known by name only",
    "untold": "the trace does not tell of every form",
    "slow_rates": "kernels run slower than the device should run them",
    "mispredicted": "the recorded form was measured far from its prediction",
    "unbacked": "no usable trace backs the measured times",
    "unrelated": "they may be no ranks of one job",
}
"""What each doubt is, by the name of its factor."""


def confidence(document: Document) -> str:
    """How sure the verdict is, what to look at, and why it is no surer; "" when there is none."""
    advised = document["recommendation"]
    if advised["verdict"] == "abstain":
        return ""
    of, what = _sure_of(document)
    repaired = advised["after_fix"] is not None
    scope = f" {of} {unit(document)} as it is; what repair allows has a range only" if repaired else ""
    seen = f"Blockers seen at {', '.join(advised['evidence'])}." if advised["evidence"] else ""
    said = f"Confidence {units.percent(advised['confidence'])}{what}{scope}."
    return " ".join(filter(None, (said, _doubted(document), seen)))


def is_doubtful(document: Document) -> bool:
    """Whether a form is advised that may gain nothing, and is not sure enough to say it plainly."""
    advised, gain = document["recommendation"], document["recommendation"]["speedup"]
    return gain is not None and gain["low"] < 1 and advised["verdict"] != "neither" and advised["confidence"] < SURE


def _sure_of(document: Document) -> tuple[str, str]:
    """How a step is joined to what the confidence is in, and what that is."""
    if is_guess(document):
        return "for", f" in {advised_form(document)}"
    stays = document["recommendation"]["verdict"] == "neither"
    return ("of", f" that no other form saves over {units.percent(TOLERANCE)}") if stays else ("for", "")


def _doubted(document: Document) -> str:
    """What it would be by the ranges alone, and what makes it less: "By the ranges 84 %, less as no step repeats."; ""
    where nothing does."""
    factors = document["recommendation"]["factors"]
    told = [words for name, words in DOUBTS.items() if name in factors]
    if not told:
        return ""
    *others, last = told
    why = f"{', '.join(others)} and {last}" if others else last
    return f"By the ranges {units.percent(factors['ranges'])}, less as {why}."
