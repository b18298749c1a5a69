from __future__ import annotations

from dataclasses import replace

import pytest

from tests.reporting import example
from tracelens.advice.results import Advice, Form
from tracelens.reporting import phrases
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document


def judged(verdict: str, own: str = "eager", **forms: Form) -> Document:
    advice = example.advice()
    recommendation = replace(advice.recommendation, verdict=verdict)
    return Report(replace(example.analysis(), form=own), Advice({**advice.forms, **forms}, recommendation, ())).document


@pytest.mark.parametrize(
    ("verdict", "own", "line"),
    [
        ("replay", "eager", "Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60)."),
        ("both", "compile", "Both: 3.91 -> 0.47 ms (predicted 0.40-0.60)."),
        ("neither", "eager", "Neither: the step stays at 3.97 ms (predicted 3.80-4.10)."),
        ("replay", "replay", "Replay, as it runs now: 0.55 ms (predicted 0.52-0.60)."),
        ("abstain", "eager", "No verdict. 70 % of the step the GPU waits for the host."),
    ],
)
def test_the_verdict_in_one_line(verdict: str, own: str, line: str) -> None:
    assert phrases.headline(judged(verdict, own)) == line


def test_a_reason_that_a_check_gave_is_not_repeated() -> None:
    advice = example.advice()
    told = next(check.message for check in example.trust().checks if not check.passed)
    recommendation = replace(advice.recommendation, verdict="abstain", summary=f"No verdict. {told}")
    document = Report(example.analysis(), replace(advice, recommendation=recommendation)).document
    assert phrases.headline(document) == "No verdict."


def test_a_measurement_shows_its_prediction() -> None:
    measured = Form(0.56, 0.55, 0.57, "measured", predicted=(0.553, 0.521, 0.602))
    line = phrases.headline(judged("replay", replay=measured))
    assert line == "Replay: 3.97 -> 0.56 ms (measured 0.55-0.57; predicted 0.52-0.60)."


def test_the_other_forms_in_a_few_words() -> None:
    free = Form(0.553, 0.521, 0.602, "predicted")
    blocked = Form(None, None, None, "predicted", blockers=(example.SYNC,))
    assert phrases.alternatives(judged("replay", replay=free)) == (
        "Not compile alone: 3.91. Both: 0.47. Blocked by nothing."
    )
    assert phrases.alternatives(judged("both", replay=blocked)) == (
        "Not compile alone: 3.91. Replay cannot run. Blocked by nothing."
    )
    assert phrases.alternatives(judged("abstain")) == ""


def test_who_waits_for_whom() -> None:
    assert phrases.boundness(judged("replay")) == "85 % of the traced step the GPU waits for the host."
    busy = judged("compile")
    busy["attribution"]["classes"]["kernel"]["ns"] = 11_000_000
    busy["window"]["steps"] = None
    assert phrases.boundness(busy) == "92 % of the traced time the GPU works."
    nothing = Report(example.empty_analysis(), example.abstaining()).document
    assert phrases.boundness(nothing) == ""
