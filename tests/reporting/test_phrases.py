from __future__ import annotations

import pytest

from tests.reporting import example
from tracelens.reporting import markdown, phrases, text
from tracelens.reporting.report import Report


def test_the_account_adds_up_to_the_time_in_its_title() -> None:
    document = example.judged("replay")
    parts = document["attribution"]["classes"].values()
    mean = sum(entry["ns"] for entry in parts) / 3 / 1e6
    assert phrases.step(document) == f"{mean:.2f} ms a step, the mean of 3 (median 4.00, 3.90-4.10)"
    document["window"]["steps"] = 1
    assert phrases.step(document) == "12.0 ms, 1 step"


def test_steps_that_are_alike_have_one_length() -> None:
    document = example.judged("replay")
    document["attribution"]["window_ns"] = 5 * 565_000
    document["window"] |= {"steps": 5, "step_ms": {"median": 0.565, "min": 0.565, "max": 0.565}}
    assert phrases.step(document) == "0.56 ms a step, each of 5"


def test_savings_and_tables_name_the_time_they_are_of() -> None:
    document = example.judged("replay")
    document["findings"] = [example.finding("sync_points", 0.1)]
    said = text.render(document)
    assert "Why  savings of a step without the profiler; counts over 3 traced steps" in said
    assert "Kernels launched over 3 traced steps" in said
    assert "Why (savings of a step without the profiler; counts over 3 traced steps)" in markdown.render(document)
    document["window"]["steps"] = None
    assert phrases.savings(document) == "savings without the profiler"
    document["findings"] = []
    assert phrases.savings(document) == ""


@pytest.mark.parametrize(("ms", "said"), [(0.001, "Saves up to 1.00 us."), (2.98, "Saves up to 2.98 ms."), (None, "")])
def test_savings_have_the_unit_that_suits_them(ms: float | None, said: str) -> None:
    finding = Report(example.analysis(), example.advice()).document["findings"][0]
    finding["saving_ms"] = ms
    assert phrases.saving(finding) == said


def test_a_saving_says_whether_it_is_the_most_or_what_is_expected() -> None:
    assert phrases.saving(example.finding("sync_points", 2.0)) == "Saves up to 2.00 ms."
    assert phrases.saving(example.finding("host_bound_dispatch", 2.0)) == "Saves about 2.00 ms."


@pytest.mark.parametrize(("world", "rank"), [(2, ", rank 1 of 2"), (None, ", rank 1")])
def test_a_rank_of_an_unknown_number_is_told_alone(world: int | None, rank: str) -> None:
    document = example.judged("replay", own="both")
    document["trace"]["world_size"] = world
    assert phrases.recorded(document) == f"a compiled and replayed step on NVIDIA H200{rank}, 3 events"


def test_a_trace_without_a_device_has_none() -> None:
    document = example.judged("abstain", own="unknown")
    document["window"]["device"] = -1
    document["trace"]["rank"] = None
    assert phrases.recorded(document) == "form unknown, on no device, 3 events"


def test_confidence_is_of_the_step_as_it_is() -> None:
    document = example.judged("neither")
    stays, now = (
        "Confidence 85 % that no other form saves over 5 %",
        "the step as it is; what repair allows has a range only.",
    )
    assert phrases.confidence(document).startswith(f"{stays} of {now}")
    assert phrases.confidence(example.judged("replay")).startswith(f"Confidence 85 % for {now}")
    document["recommendation"]["after_fix"] = None
    assert phrases.confidence(document).startswith(f"{stays}.")
