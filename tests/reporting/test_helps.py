"""A repair that no form stands for is a next step, whatever form is advised."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from tests.reporting import example
from tracelens.reporting import markdown, phrases, text
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document, FindingEntry

PINNED = "Mend pageable copies. Saves up to 3.50 ms."


def judged(verdict: str, *findings: FindingEntry, decided: bool = True) -> Document:
    """A report of a step of 3.97 ms in eager mode, 0.55 replayed."""
    advice = example.advice()
    advised = replace(advice.recommendation, verdict=verdict, fix_first=(), after_fix=None, decided=decided)
    document = Report(example.analysis(), replace(advice, recommendation=advised, findings=())).document
    document["findings"] = list(findings)
    return document


def told(rule: str, saving_ms: float | None) -> FindingEntry:
    """A finding of that rule."""
    advice, title = f"Mend {rule.replace('_', ' ')}.", f"Title of {rule}"
    evidence: list[str] = []
    finding = {"rule": rule, "severity": "info", "title": title, "saving_ms": saving_ms, "evidence": evidence}
    return cast("FindingEntry", {**finding, "advice": advice})


@pytest.mark.parametrize("verdict", ["compile", "replay", "both", "neither"])
@pytest.mark.parametrize("decided", [True, False])
def test_a_large_repair_is_a_next_step_whatever_wins(verdict: str, decided: bool) -> None:
    document = judged(verdict, told("pageable_copies", 3.5), decided=decided)
    steps = phrases.next_steps(document)
    assert f"{steps.index(PINNED) + 1}. Mend pageable copies." in text.render(document)
    assert "Mend pageable copies." in markdown.render(document)


def test_the_headline_names_a_repair_that_saves_more_than_the_form() -> None:
    headline = "Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60)."
    more = phrases.headline(judged("replay", told("pageable_copies", 3.5)))
    assert more == f"{headline} More to gain: pin the copies, up to 3.50 ms."
    assert phrases.headline(judged("replay", told("pageable_copies", 3.0))) == headline
    guess = phrases.headline(judged("replay", told("host_work", 3.9), decided=False))
    assert guess.startswith(
        "First move the host work out, which saves up to 3.90 ms. Cannot tell which form is fastest: "
    )


@pytest.mark.parametrize(("high", "first"), [(2.0, True), (0.3, False)])
def test_beside_a_guess_a_repair_gives_way_only_to_one_that_surely_allows_more(high: float, first: bool) -> None:
    document = example.judged("neither")
    document["recommendation"] |= {"decided": False, "among": []}
    document["findings"] = [told("late_rank", 3.5)]
    after = document["recommendation"]["after_fix"]
    assert after is not None
    after |= {"step_ms": 0.25, "low": 0.2, "high": high}
    assert phrases.headline(document).startswith("First find the late rank, which saves up to 3.50 ms. ") == first
    assert phrases.next_steps(document)[0].startswith("Mend late rank.") == first


def test_what_pays_whichever_form_is_best_comes_before_measuring_them() -> None:
    document = judged("replay", told("host_work", 3.9), told("hip_graphs", None), decided=False)
    assert phrases.next_steps(document) == ["Mend host work. Saves up to 3.90 ms.", phrases.MEASURE]
    assert phrases.next_steps(judged("replay", told("hip_graphs", None))) == [phrases.MEASURE]


@pytest.mark.parametrize(
    "finding", [told("pageable_copies", 0.3), told("optimizer_loop", 3.5), told("device_limit", None)]
)
def test_what_saves_little_or_what_the_form_saves_is_none(finding: FindingEntry) -> None:
    document = judged("replay", finding)
    assert phrases.next_steps(document) == []
    assert "More to gain" not in phrases.headline(document)


def test_a_repair_is_told_once() -> None:
    document = judged("both", told("pageable_copies", 3.5), told("data_loading", 3.0))
    document["recommendation"]["fix_first"] = [{"blocker": "pageable_copy", "where": None, "advice": "Pin them."}]
    assert phrases.next_steps(document) == ["Pin them.", "Mend data loading. Saves up to 3.00 ms."]
