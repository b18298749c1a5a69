from __future__ import annotations

import pytest

from tests.reporting import example
from tracelens.advice.results import Form
from tracelens.reporting import markdown, phrases


def test_a_guess_names_the_forms_that_may_be_meant_and_none_of_them() -> None:
    document = example.judged("replay")
    document["recommendation"] |= {"confidence": 0.49, "decided": False, "after_fix": None}
    line = phrases.headline(document)
    assert line == "Cannot tell which form is fastest: both 0.47 ms (0.40-0.60) or replay 0.55 ms (0.52-0.60)."
    assert phrases.next_steps(document)[0] == phrases.MEASURE
    assert "1. Measure the forms" in markdown.render(document)
    assert phrases.confidence(document).startswith("Confidence 49 % in replay.")
    assert "Not " not in phrases.alternatives(document)
    document["recommendation"]["decided"] = True
    assert phrases.MEASURE not in phrases.next_steps(document)
    document["findings"] = [example.finding("hip_graphs", None)]
    assert phrases.next_steps(document)[0] == phrases.MEASURE
    assert phrases.headline(document).startswith("Replay: ")


def test_a_guess_that_no_form_pays_denies_none_of_them() -> None:
    blocked = Form(None, None, None, "predicted", blockers=(example.SYNC,))
    document = example.judged("neither", replay=blocked)
    document["recommendation"] |= {"confidence": 0.4, "decided": False, "after_fix": None}
    assert phrases.headline(document) == (
        "Cannot tell whether a form beats eager 3.97 ms (3.80-4.10): both 0.47 ms (0.40-0.60) or "
        "compile 3.91 ms (2.50-4.40)."
    )
    assert phrases.alternatives(document) == "Replay blocked: 32 .item() a step."


@pytest.mark.parametrize(("low", "busy_ns", "said"), [
    (3.75, 3_800_000, "At a guess, no form beats"),
    (3.5, 3_800_000, "Cannot tell whether a form beats"),
    (3.75, 300_000, "Cannot tell whether a form beats"),
])  # fmt: skip
def test_where_no_form_may_be_shorter_the_guess_is_told(low: float, busy_ns: int, said: str) -> None:
    unable, fused = Form(None, None, None, "predicted", blockers=(example.SYNC,)), Form(3.97, low, 9.0, "predicted")
    document = example.judged("neither", replay=unable, both=unable, compile=fused)
    document["recommendation"] |= {"confidence": 0.4, "decided": False, "after_fix": None}
    document["attribution"]["classes"]["kernel"]["ns"] = busy_ns * document["window"]["steps"]
    assert phrases.headline(document).startswith(f"{said} eager 3.97 ms (3.80-4.10): compile 3.97 ms (")


def test_a_guess_that_no_form_pays_is_not_told_of_forms_that_the_trace_does_not_show() -> None:
    unseen, fused = Form(None, None, None, "predicted", error="not visible"), Form(0.5, 0.49, 0.9, "predicted")
    document = example.judged("neither", own="both", eager=unseen, replay=unseen, compile=fused)
    document["recommendation"] |= {"confidence": 0.4, "decided": False, "after_fix": None, "fix_first": []}
    document["attribution"]["classes"]["kernel"]["ns"] = 480_000 * document["window"]["steps"]
    assert phrases.headline(document).startswith("Cannot tell whether a form beats both 0.47 ms (0.40-0.60): compile")


def test_a_guess_with_one_known_form_says_that_the_others_are_not_shown() -> None:
    unseen = Form(None, None, None, "predicted", error="not visible")
    document = example.judged("neither", own="both", eager=unseen, compile=unseen, replay=unseen)
    document["recommendation"] |= {"confidence": 0.4, "decided": False, "after_fix": None, "fix_first": []}
    document["findings"] = [example.finding("device_limit", None)]
    assert phrases.headline(document) == (
        "Cannot tell whether another form would pay: the trace shows no other than both 0.47 ms (0.40-0.60)."
    )


def test_what_was_measured_is_no_guess_however_little_backs_it() -> None:
    forms = {name: Form(time, time, time, "measured") for name, time in (("eager", 2.0), ("replay", 0.5))}
    document = example.judged(
        "replay", **forms, compile=Form(None, None, None, "measured"), both=Form(None, None, None, "measured")
    )
    document["recommendation"]["confidence"] = 0.4
    assert phrases.headline(document).startswith("Replay: 2.00 -> 0.50 ms")
