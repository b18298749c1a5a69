from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reporting import example
from tracelens.advice.choice.snippet import Target, code
from tracelens.reporting import text
from tracelens.reporting.printable import cells
from tracelens.reporting.report import Report

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def report() -> Report:
    return Report(example.analysis(), example.advice())


def test_the_answer_comes_first(report: Report) -> None:
    trust, reason, empty, verdict, _, others = report.to_text(limit=2).splitlines()[:6]
    assert trust == "! Trust: degraded"
    assert reason == "  - Steps differ by 1.6 x; record more steps after a warm-up."
    assert not empty
    assert verdict == "Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60). After repair (32 .item() a step):"
    assert others == "85 % of the traced step device 0 waits for the host. Not compile alone: 3.91 ms."


def test_sections_come_in_the_order_of_a_reader(report: Report) -> None:
    text = report.to_text()
    titles = ["! Trust", "Replay:", "Where the step goes", "Four ways", "Why", "What to do next", "Kernels", "Trace"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


@settings(max_examples=30)
@given(st.integers(48, 200), st.booleans(), st.booleans())
def test_lines_fit_the_width(width: int, color: bool, unicode: bool) -> None:
    text = Report(example.analysis(), example.advice()).to_text(width=width, color=color, unicode=unicode)
    assert max(cells(line) for line in ANSI.sub("", text).splitlines()) <= width


@pytest.mark.parametrize("width", [36, 40, 50, 60])
def test_what_is_said_of_the_step_and_its_parts_is_whole(report: Report, width: int) -> None:
    words = " ".join(report.to_text(width=width).split())
    assert "4.00 ms a step, the mean of 3 (median 4.00, 3.90-4.10)" in words
    assert "framework 45.0 %, python 16.7 %" in words


def test_colour_adds_nothing_but_colour(report: Report) -> None:
    assert ANSI.sub("", report.to_text(color=True)) == report.to_text()
    assert "\x1b" not in report.to_text()


def test_ascii_is_enough(report: Report) -> None:
    assert report.to_text(unicode=False).isascii()


def test_what_is_not_shown_is_announced(report: Report) -> None:
    assert "Kernels launched over 3 traced steps  5 more; --limit 0 shows all" in report.to_text(limit=2)
    assert "--limit" not in report.to_text(limit=None)


def test_names_of_the_trace_cannot_drive_the_terminal() -> None:
    analysis = example.with_column(example.analysis(), "kernels", name=["evil\x1b]0;title\x07\u202e"] * 7)
    text = Report(analysis, example.advice()).to_text(width=120)
    assert "evil\\x1b]0;title\\x07\\u202e" in text
    assert text.replace("\n", "").isprintable()


def test_code_is_never_cut_and_fits() -> None:
    advice = example.advice()
    line = "    for batch in batches:                      # " + "a comment that is too long for the line"
    recommendation = replace(advice.recommendation, snippet=f"with graph:\n{line}\n        step(*batch)\n")
    text = Report(example.analysis(), replace(advice, recommendation=recommendation)).to_text(width=60)
    assert (
        "      # a comment that is too long for the line\n      for batch in batches:\n          step(*batch)\n" in text
    )


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("variant", ["reduce-overhead", "manual", None])
@pytest.mark.parametrize("verdict", ["compile", "replay", "both"])
def test_the_code_that_is_advised_fits_80_columns(verdict: str, variant: str | None, training: bool) -> None:
    advice = example.advice()
    snippet = code(verdict, variant, Target(training))
    recommendation = replace(advice.recommendation, verdict=verdict, snippet=snippet)
    text = Report(example.analysis(), replace(advice, recommendation=recommendation)).to_text()
    assert max(map(cells, text.splitlines())) <= 80
    statements = [line.partition("  # ")[0].strip() for line in snippet.splitlines()]
    printed = {line.partition("  # ")[0].strip() for line in text.splitlines()}
    assert set(statements) <= printed


@pytest.mark.parametrize("width", [20, 40, 50, 60, 80])
def test_figures_of_the_forms_are_whole_or_named_as_left_out(report: Report, width: int) -> None:
    lines = report.to_text(width=width).splitlines()
    begin = lines.index("Four ways to run the step")
    head, rows = lines[begin + 1], lines[begin + 2 : begin + 6]
    assert not [row for row in rows if re.search(r"\d…|…\d|-…", row)]
    shown = " ".join(lines[begin + 6 :]).partition("as well")[0]
    for title in ("range", "speed-up", "source"):
        assert title in head or title in shown


def test_no_limit_shows_all_findings() -> None:
    document = example.judged("replay")
    document["findings"] = [example.finding(f"rule_{number}", 0.1) for number in range(7)]
    assert "  2 more; --limit 0 shows all" in text.render(document)
    assert "rule_6" not in text.render(document)
    assert "rule_6" in text.render(document, whole=True)
