from __future__ import annotations

import pytest

from tests.reporting import example
from tracelens.reporting import phrases
from tracelens.reporting.report import Report


def test_who_waits_for_whom() -> None:
    assert phrases.boundness(example.judged("replay")) == "85 % of the traced step device 0 waits for the host."
    busy = example.judged("compile")
    busy["attribution"]["classes"]["kernel"]["ns"] = 11_000_000
    busy["window"]["steps"] = None
    assert phrases.boundness(busy) == "92 % of the traced time device 0 works."
    nothing = Report(example.empty_analysis(), example.abstaining()).document
    assert phrases.boundness(nothing) == ""


def test_the_device_is_named_where_others_worked_too() -> None:
    document = example.judged("replay")
    document["trace"]["devices"] = [{"id": 0, "name": "GPU", "busy_ns": 9}, {"id": 1, "name": "GPU", "busy_ns": 0}]
    assert phrases.boundness(document) == "85 % of the traced step the GPU waits for the host."
    document["trace"]["devices"] = [{"id": 0, "name": "GPU", "busy_ns": 9}, {"id": 1, "name": "GPU", "busy_ns": 7}]
    assert phrases.boundness(document) == "85 % of the traced step device 0 waits for the host."


@pytest.mark.parametrize(("part", "said"), [("copy", "copies"), ("communication", "communication")])
def test_a_device_that_works_but_does_not_compute(part: str, said: str) -> None:
    document = example.judged("compile")
    kernel = document["attribution"]["classes"]["kernel"]
    kernel["ns"], kernel["parts"] = 11_000_000, {"compute": 2_000_000, part: 9_000_000}
    told = f"92 % of the traced step device 0 works, 82 % of it in {said} that nothing hides."
    assert phrases.boundness(document) == told


def test_communication_that_takes_much_is_named_at_once() -> None:
    document = example.judged("neither")
    classes = document["attribution"]["classes"]
    classes["kernel"] = {"ns": 11_000_000, "parts": {"compute": 5_000_000, "communication": 6_000_000}}
    assert "% of it in communication that nothing hides." in phrases.boundness(document)


def test_a_device_of_which_nothing_is_known_neither_works_nor_waits() -> None:
    document = example.judged("replay")
    document["attribution"]["classes"]["unknown"]["ns"] = document["attribution"]["window_ns"]
    assert phrases.boundness(document) == (
        "For 100 % of the traced step the trace does not say what device 0 waits for."
    )
    document["attribution"]["classes"]["unknown"]["parts"] = {"outside": document["attribution"]["window_ns"]}
    assert phrases.boundness(document) == "", "nothing was recorded there"
