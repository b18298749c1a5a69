"""The confidence is the product of factors that have names, and a sure gain is told from an open form."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from tests.advice.story import Beat, analysis, gemm, item, op, pointwise
from tests.advice.test_verdict import form
from tracelens.advice import advise
from tracelens.advice.choice.case import Case
from tracelens.advice.choice.doubts import DOUBTS, among, doubts, factors_of
from tracelens.advice.choice.recommend import recommend
from tracelens.advice.explain.explain import explain
from tracelens.advice.results import Advice, Form
from tracelens.analysis.results import Trust

HOST_BOUND = [op("aten::mm", 2, shapes=[[64, 64]] * 2, dtypes=["float"] * 2, host=30), pointwise(2, host=30)] * 40


def advice(*beats: Beat, **options: object) -> Advice:
    return advise(analysis(*beats, **options))


def case(trust: str = "ok", **forms: Form) -> Case:
    """The case of four forms, those not given unable to run, of a sound trace."""
    every = {name: forms.get(name, form(None)) for name in ("eager", "compile", "replay", "both")}
    found = replace(analysis(gemm(100)), trust=Trust(trust, ()))
    return Case(found, every, (), every, "")


@pytest.mark.parametrize(
    ("beats", "options", "doubted"),
    [
        (HOST_BOUND, {}, set[str]()),
        (HOST_BOUND, {"steps": 1}, {"unrepeated"}),
        ([*HOST_BOUND, item(only=1)], {}, {"stray"}),
        ([item(only=0), *HOST_BOUND], {"steps": 1}, {"unrepeated", "stray"}),
    ],
)
def test_the_confidence_is_the_product_of_its_factors(
    beats: list[Beat], options: dict[str, object], doubted: set[str]
) -> None:
    found = advice(*beats, **options).recommendation
    assert found.factors.keys() == {"ranges"} | doubted
    assert found.confidence == pytest.approx(prod(found.factors.values()), abs=0.005)
    assert {name: found.factors[name] for name in doubted} == {name: DOUBTS[name][0] for name in doubted}


def test_no_doubt_counts_against_what_was_measured_but_that_a_form_is_unknown_or_the_trace_unusable() -> None:
    measured = {name: replace(form(time), source="measured") for name, time in (("eager", 2.0), ("both", 1.0))}
    assert doubts(case("degraded", **measured)) == {"untold": DOUBTS["untold"][0]}
    assert doubts(case("unusable", **measured)).keys() == {"unbacked"}
    assert doubts(case("degraded", eager=form(2.0), both=form(1.0))).keys() == {"degraded", "untold"}


def test_explain_lists_every_factor_with_its_number_and_its_source() -> None:
    (found,) = explain("confidence")
    shown = {constant.name.lower(): constant for constant in found.constants}
    for name, (left, _) in DOUBTS.items():
        assert shown[name].value == str(left)
        assert "[" in shown[name].meaning
        assert any(str(left) in word.title for word in explain(name) if word.kind == "word"), name
    assert {"most", "even", "missed", "slow", "unexplained"} <= shown.keys(), "the thresholds"


def test_a_gain_that_is_sure_is_told_where_the_form_is_open() -> None:
    open_forms = case(eager=form(5.0), replay=form(1.05, 1.2), both=form(1.0, 1.4))
    assert among(open_forms) == ("both", "replay")
    assert among(case(eager=form(1.3, 1.4), replay=form(1.05, 1.2), both=form(1.0, 1.4))) == (), "eager may be as fast"
    assert among(case(eager=form(5.0), replay=form(2.0), both=form(1.0))) == (), "one form alone is no open choice"


def test_a_doubtful_trace_makes_no_gain_sure() -> None:
    open_forms = case(eager=form(5.0), replay=form(1.05, 1.2), both=form(1.0, 1.4), compile=form(4.0))
    assert among(open_forms) == ("both", "replay")
    doubted = replace(open_forms, analysis=replace(open_forms.analysis, form="mixed", trust=Trust("degraded", ())))
    assert prod(doubts(doubted).values()) < 0.5
    assert among(doubted) == ()


def test_a_decision_names_no_other_forms() -> None:
    sure = recommend(case(eager=form(5.0), compile=form(4.0), replay=form(2.0), both=form(1.0)))
    assert (sure.decided, sure.among) == (True, ())
    wide = case(eager=form(50.0), compile=form(40.0), replay=form(1.06, 1.01), both=form(1.0, 3.0))
    guess = recommend(wide)
    assert (guess.decided, guess.among) == (False, ("both", "replay"))
    assert factors_of(wide, guess.verdict)["ranges"] == pytest.approx(guess.confidence, abs=0.005)


@pytest.mark.parametrize(
    ("low", "said"), [(0.098, "At a guess, no other form would pay."), (0.08, "Whether another form")]
)
def test_where_no_form_may_be_shorter_the_guess_is_that_none_pays(low: float, said: str) -> None:
    eager, other = Form(0.1, 0.098, 0.3, "predicted"), Form(0.1, low, 2.0, "predicted")
    found = recommend(case("degraded", eager=eager, compile=other, replay=other, both=other))
    assert (found.verdict, found.decided) == ("neither", False)
    assert found.summary.startswith(said)
