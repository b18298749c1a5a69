from __future__ import annotations

from dataclasses import replace

import pytest

from tests.reporting import example
from tracelens.advice.results import Blocker, Form
from tracelens.reporting import markdown, phrases, text
from tracelens.reporting.report import Report
from tracelens.reporting.schema import FindingEntry

REPAIRED = "After repair (32 .item() a step): both, 0.47 ms (predicted 0.40-0.60)."


@pytest.mark.parametrize(
    ("verdict", "own", "line"),
    [
        ("replay", "eager", f"Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60). {REPAIRED}"),
        ("both", "compile", f"Both, as mode='reduce-overhead': 3.91 -> 0.47 ms (predicted 0.40-0.60). {REPAIRED}"),
        ("neither", "eager", f"Neither as it is: 3.97 ms (predicted 3.80-4.10). {REPAIRED}"),
        ("replay", "replay", f"Replay, as it runs now: 0.55 ms (predicted 0.52-0.60). {REPAIRED}"),
        ("abstain", "eager", "No verdict. 70 % of the step the GPU waits for the host."),
    ],
)
def test_the_verdict_in_one_line(verdict: str, own: str, line: str) -> None:
    assert phrases.headline(example.judged(verdict, own)) == line


def test_what_a_repair_allows_is_told_without_the_details_of_what_to_repair() -> None:
    slow = Blocker("host_work", "a data loader that holds up the device for 28 % of the traced time", None, 1.0, "Do.")
    document = example.judged("compile", eager=Form(4.4, 4.0, 4.9, "measured", blockers=(slow,)))
    document["recommendation"]["fix_first"] = [{"blocker": "host_work", "where": None, "advice": "Do."}]
    assert "After repair (a data loader that holds up the device): both, " in phrases.headline(document)


def test_neither_without_a_repair_that_pays() -> None:
    document = example.judged("neither")
    document["recommendation"]["after_fix"] = None
    assert phrases.headline(document) == "Neither: the step stays at 3.97 ms (predicted 3.80-4.10)."
    document["window"]["steps"] = None
    assert phrases.headline(document) == "Neither: this stretch stays at 3.97 ms (predicted 3.80-4.10)."


@pytest.mark.parametrize(
    ("finding", "line", "steps"),
    [
        (
            example.finding("pageable_copies", 2.0),
            "Neither form; pin the copies, which saves up to 2.00 ms. Else ",
            ["Do. Saves up to 2.00 ms."],
        ),
        (example.finding("device_limit", None), "Neither form; only cheaper arithmetic helps. Else ", ["Do."]),
        (example.finding("pageable_copies", 0.1), "Neither: ", []),
    ],
)
def test_neither_names_what_helps_instead(finding: FindingEntry, line: str, steps: list[str]) -> None:
    document = example.judged("neither")
    document["recommendation"] |= {"after_fix": None, "fix_first": [], "snippet": ""}
    document["findings"] = [finding]
    assert phrases.headline(document) == f"{line}the step stays at 3.97 ms (predicted 3.80-4.10)."
    assert phrases.next_steps(document) == steps
    assert ("What to do next" in text.render(document)) == bool(steps)
    assert ("1. Do." in markdown.render(document)) == bool(steps)


def test_a_form_in_use_is_kept() -> None:
    document = example.judged("neither", "both")
    document["recommendation"] |= {"after_fix": None, "fix_first": []}
    assert phrases.headline(document).startswith("Keep both: the step stays at 0.47 ms")


def test_a_reason_that_a_check_gave_is_not_repeated() -> None:
    advice = example.advice()
    told = next(check.message for check in example.trust().checks if not check.passed)
    recommendation = replace(advice.recommendation, verdict="abstain", summary=f"No verdict. {told}")
    document = Report(example.analysis(), replace(advice, recommendation=recommendation)).document
    assert phrases.headline(document) == "No verdict."


def test_a_measurement_shows_its_prediction() -> None:
    measured = Form(0.56, 0.55, 0.57, "measured", predicted=(0.553, 0.521, 0.602))
    line = phrases.headline(example.judged("replay", replay=measured))
    assert line.startswith("Replay: 3.97 -> 0.56 ms (measured 0.55-0.57; predicted 0.52-0.60). ")


def test_a_verdict_on_a_unit_that_may_be_a_layer_says_so_at_once() -> None:
    document = example.judged("replay")
    document["window"] |= {"kind": "period", "name": "repeated unit of 12 launches"}
    unit = "That is of a repeated unit of 12 launches, which may be but a layer of the step: no steps are annotated."
    assert phrases.headline(document).endswith(f" {unit}")
    assert " ms a unit, the mean of 3" in phrases.step(document)
    for form in document["forms"].values():
        form["source"] = "measured"
    assert unit not in phrases.headline(document)
    assert unit not in phrases.headline(example.judged("replay"))


def test_a_form_that_the_compiler_makes_by_itself_is_named_with_its_mode() -> None:
    document = example.judged("both", both=Form(0.47, 0.40, 0.60, "predicted", variant="reduce-overhead"))
    assert phrases.headline(document).startswith("Both, as mode='reduce-overhead': 3.97 -> 0.47 ms")
