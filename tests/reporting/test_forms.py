from __future__ import annotations

from dataclasses import replace

import pytest

from tests.reporting import example
from tracelens.advice.results import Form
from tracelens.advice.terms import RULES, Terms
from tracelens.reporting import markdown, phrases, runs, text


@pytest.mark.parametrize(("error", "said"), [(0.0, "differ from eager's"), (0.25, "differ from eager's by up to 0.25")])
def test_a_form_whose_outputs_differ_says_so_and_pays_for_nothing(error: float, said: str) -> None:
    wrong = Form(0.5, 0.5, 0.5, "measured", outputs="differ", largest_error=error, break_even_steps=9.0, setup_s=1.0)
    document = example.judged("neither", replay=wrong)
    row = next(row for row in phrases.form_rows(document) if row.name == "replay")
    assert row.blocked_by.endswith(said)
    assert row.pays_after == ""
    assert runs.set_up(document) == ""
    assert "Not replay: 0.50 ms, its outputs differ." in phrases.alternatives(document)


def test_a_form_that_ran_though_the_trace_forbids_it_says_so() -> None:
    ran = Form(0.5, 0.5, 0.5, "measured")
    eager = Form(4.0, 3.9, 4.1, "measured", predicted=(4.1, 3.0, 5.0))
    told = {row.name: row.predicted for row in phrases.form_rows(example.judged("replay", eager=eager, replay=ran))}
    assert told["replay"] == "cannot run"
    assert told["compile"] == ""
    assert not any(row.predicted for row in phrases.form_rows(example.judged("replay", replay=ran)))


def test_a_rule_that_decides_a_predicted_time_is_said_once_below_the_forms() -> None:
    def ruled(rule: str) -> Form:
        return Form(3.9, 2.0, 5.9, "predicted", terms=Terms("eager_ns", rule, {"eager_ns": 3.9e6}))

    both = example.judged("replay", compile=ruled("stays_eager"), both=ruled("stays_eager"))
    assert phrases.blocked_forms(both)[RULES["stays_eager"]] == ["compile", "both"]
    assert RULES["stays_eager"] in " ".join(text.render(both, width=200).split())
    assert markdown.render(both).count(RULES["stays_eager"]) == 2
    bound = example.judged("replay", both=ruled("device_bound"))
    measured = example.judged("replay", both=replace(ruled("stays_eager"), source="measured"))
    assert (
        list(phrases.blocked_forms(bound))
        == list(phrases.blocked_forms(measured))
        == ["32 .item() a step at model.py:41"]
    )


def test_a_form_without_a_time_says_why_in_a_word() -> None:
    document = example.judged(
        "both",
        compile=Form(None, None, None, "predicted"),
        replay=Form(None, None, None, "predicted", blockers=(example.SYNC,)),
        both=Form(None, None, None, "measured", error="out of memory"),
    )
    assert [row.source for row in phrases.form_rows(document)][1:] == ["unknown", "blocked", "failed"]
