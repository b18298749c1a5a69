"""When --fail-on fails, and what it says."""

from __future__ import annotations

import pytest

from tests.reporting import example
from tracelens.cli.conditions import parse_conditions, reasons, undecided
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document


def judged(**said: object) -> Document:
    document = Report(example.analysis(), example.advice()).document
    document["recommendation"] |= said  # type: ignore[typeddict-item]
    return document


@pytest.mark.parametrize(("asked", "holds"), [("both,replay", True), ("compile,both,replay", True), ("both", False)])
def test_an_open_form_fails_where_all_that_may_be_best_are_asked_for(asked: str, holds: bool) -> None:
    document = judged(decided=False, among=["both", "replay"], confidence=0.49)
    conditions = parse_conditions(asked)
    found, note = reasons(conditions, document), undecided(conditions, document)
    assert bool(found) is holds
    assert bool(note) is not holds
    assert "both or replay" in (found[0] if holds else note)
    assert ("--fail-on both,replay fails on it" in note) is not holds


def test_a_guess_that_may_gain_nothing_fails_nothing() -> None:
    document = judged(decided=False, among=[], confidence=0.49)
    conditions = parse_conditions("both,replay,compile")
    assert reasons(conditions, document) == []
    assert undecided(conditions, document) == "cannot tell which form is fastest; replay is a guess of 49 %"


def test_a_guess_of_the_form_in_use_is_named_by_that_form() -> None:
    said = undecided(parse_conditions("both"), judged(verdict="neither", decided=False, among=[], confidence=0.37))
    assert said == "cannot tell which form is fastest; eager is a guess of 37 %"


def test_a_condition_on_the_idle_time_is_not_asked_which_form_is_best() -> None:
    document = judged(decided=False, among=["both", "replay"])
    assert undecided(parse_conditions("idle=20"), document) == ""
    assert all(reason.startswith("the device idles") for reason in reasons(parse_conditions("idle=20"), document))
