"""Why a replayed form takes longer than the form in use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.reporting import example
from tracelens.advice.results import Form
from tracelens.advice.terms import DEVICE, HOST, Terms
from tracelens.reporting import markdown, phrases, text
from tracelens.reporting.report import Report

WHY = "each replay first copies its inputs into the graph's buffers, 100 us"


def told(replay: Form) -> dict[str, list[str]]:
    """What is said of the forms of a step of 3.97 ms in eager mode."""
    advice = example.advice()
    document = Report(example.analysis(), replace(advice, forms=advice.forms | {"replay": replay})).document
    said = phrases.blocked_forms(document)
    assert (WHY in text.render(document, width=200)) == (WHY in said)
    assert ("each replay first copies" in markdown.render(document)) == (WHY in said)
    return said


def replayed(step_ms: float, copies_ns: float = 100_000, by: str = DEVICE, source: str = "predicted") -> Form:
    terms = Terms().told("device_ns + input_copies_ns", by, device_ns=3_970_000, input_copies_ns=copies_ns)
    return Form(step_ms, step_ms, step_ms, source, terms=terms)


def test_a_replay_above_eager_names_the_copies_of_its_inputs() -> None:
    assert told(replayed(4.07))[WHY] == ["replay"]
    assert told(replayed(4.16))[WHY] == ["replay"]


@pytest.mark.parametrize(
    "form",
    [
        replayed(3.98),
        replayed(3.5),
        replayed(4.07, copies_ns=10_000),
        replayed(4.5),
        replayed(4.07, by=HOST),
        replayed(4.07, source="measured"),
        Form(4.07, 4.0, 4.2, "predicted"),
    ],
)
def test_what_copies_do_not_explain_is_not_told_of_them(form: Form) -> None:
    assert not any("copies its inputs" in reason for reason in told(form))


@pytest.mark.parametrize(("library_ns", "told_so"), [(3_700_000, True), (480_000, False)])
def test_compiled_library_calls_that_outlast_the_step_say_so(library_ns: int, told_so: bool) -> None:
    eager = Form(4.61, 3.1, 6.7, "predicted", terms=Terms().told("host_ns", HOST, launched_ns=470_000))
    both = Form(3.83, 2.1, 4.1, "predicted", terms=Terms().told("library_ns", DEVICE, library_ns=library_ns))
    document = example.judged("replay", eager=eager, both=both)
    why = [reason for reason, names in phrases.blocked_forms(document).items() if names == ["both"]]
    assert any(reason.endswith("take 3.70 ms, where all device work takes 470 us now") for reason in why) is told_so
