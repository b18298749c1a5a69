"""What a report says of how sure it is."""

from __future__ import annotations

import pytest

from tests.reporting import example
from tracelens.advice.choice.doubts import DOUBTS
from tracelens.reporting import certainty, phrases
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document


def judged(**said: object) -> Document:
    document = Report(example.analysis(), example.advice()).document
    document["recommendation"] |= said  # type: ignore[typeddict-item]
    return document


def test_every_doubt_has_words() -> None:
    assert certainty.DOUBTS.keys() == {*DOUBTS, "unbacked", "unrelated"}


def test_the_confidence_says_what_makes_it_less() -> None:
    assert phrases.confidence(judged(factors={"ranges": 0.85})) == (
        "Confidence 85 % for the step as it is; what repair allows has a range only. Blockers seen at g-1, s-0."
    )
    one = phrases.confidence(judged(factors={"ranges": 0.85, "unrepeated": 0.7}))
    assert "range only. By the ranges 85 %, less as no step repeats. Blockers" in one
    three = phrases.confidence(judged(factors={"ranges": 0.85, "mixed": 0.6, "unrepeated": 0.7, "degraded": 0.7}))
    assert (
        "By the ranges 85 %, less as a trust check fails, part of the step is compiled or replayed already and no step "
        "repeats."
    ) in three


def test_an_open_form_does_not_hide_a_sure_gain() -> None:
    document = judged(decided=False, among=["both", "replay"], after_fix=None)
    assert phrases.headline(document) == (
        "Cannot tell which form is fastest: both 0.47 ms (0.40-0.60) or replay 0.55 ms (0.52-0.60). Whichever it is "
        "beats eager 3.97 ms (3.80-4.10)."
    )
    document["recommendation"]["among"] = []
    assert "Whichever" not in phrases.headline(document)


@pytest.mark.parametrize(("sure", "low", "begins"), [(0.6, 0.9, "Perhaps r"), (0.6, 1.1, "R"), (0.8, 0.9, "R")])
def test_a_gain_that_may_be_none_is_advised_with_perhaps(sure: float, low: float, begins: str) -> None:
    document = judged(confidence=sure, speedup={"mid": 1.2, "low": low, "high": 2.0})
    assert phrases.headline(document).startswith(f"{begins}eplay: 3.97 -> 0.55 ms")
    assert (phrases.next_steps(document)[0] == phrases.MEASURE) is begins.startswith("Perhaps")
