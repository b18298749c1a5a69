from __future__ import annotations

from tests.reporting import example
from tracelens.advice.results import Form
from tracelens.advice.terms import Terms
from tracelens.reporting import phrases


def test_what_the_profiler_costs_is_told_where_it_matters() -> None:
    assert phrases.profiled(example.judged("replay")) == ""
    predicted = example.judged("replay", eager=Form(2.0, 1.8, 2.2, "predicted"))
    assert phrases.profiled(predicted) == "4.00 ms recorded under the profiler; 2.00 ms without it (estimated)."
    measured = example.judged("replay", eager=Form(2.0, 1.8, 2.2, "measured"))
    assert phrases.profiled(measured) == "4.00 ms recorded under the profiler; 2.00 ms without it (measured)."
    predicted["window"]["steps"] = None
    assert phrases.profiled(predicted).startswith("12.0 ms recorded"), "a stretch counts as one step"


def test_why_a_step_takes_longer_than_it_was_recorded() -> None:
    slower = phrases.profiled(example.judged("replay", eager=Form(5.0, 4.8, 5.2, "measured")))
    assert slower.endswith("; 5.00 ms without it (measured, slower for a reason other than recording).")
    limited = Terms("device_ns", "device_bound", {"device_ns": 5e6, "clocks": 1.25})
    limit = phrases.profiled(example.judged("neither", eager=Form(5.0, 4.8, 5.2, "predicted", terms=limited)))
    assert limit.endswith(
        "; 5.00 ms without it (estimated, at the clocks of a long run, which the power limit lowers)."
    )


def test_why_a_step_is_predicted_shorter_than_the_device_works() -> None:
    predicted = example.judged("replay", eager=Form(2.0, 1.8, 2.2, "predicted"))
    predicted["attribution"]["classes"]["kernel"]["ns"] = 9_000_000
    assert phrases.profiled(predicted) == (
        "4.00 ms recorded; 2.00 ms estimated, less than the 3.00 ms that the device works: 2.46 ms of that was "
        "launched outside the step, or before the recording."
    )
    predicted["tables"]["kernels"][0] |= {"total_ns": 9_500_000, "share": 1.0}
    assert phrases.profiled(predicted).endswith(
        "that the device works: a guess that more of its streams' work overlaps where the host is faster."
    )
    launched = Terms("host_ns", "host_bound", {"host_ns": 2e6, "launched_ns": 1.9e6})
    known = example.judged("replay", eager=Form(2.0, 1.8, 2.2, "predicted", terms=launched))
    predicted["forms"]["eager"] = known["forms"]["eager"]
    assert "1.10 ms of that was launched outside the step" in phrases.profiled(predicted)
    predicted["window"]["steps"] = None
    assert phrases.profiled(predicted).startswith("12.0 ms recorded"), "a stretch counts as one step"


def test_of_steps_that_differ_no_mean_is_compared_with_a_typical_one() -> None:
    document = example.judged("compile", eager=Form(2.0, 1.8, 2.2, "predicted"))
    document["window"]["step_ms"] |= {"min": 1.0, "max": 12.0}
    assert phrases.profiled(document) == "Steps differ; a typical one takes 2.00 ms without the profiler (estimated)."
    assert phrases.boundness(document) == "85 % of the traced step device 0 waits for the host."


def test_how_long_the_device_waits_without_the_profiler() -> None:
    document = example.judged("replay", eager=Form(2.0, 1.8, 2.2, "measured"))
    kernel_ms = document["attribution"]["classes"]["kernel"]["ns"] / 3 / 1e6
    assert phrases.boundness(document) == (
        f"85 % of the traced step device 0 waits for the host; without the profiler for about "
        f"{100 * (1 - kernel_ms / 2):.0f} %."
    )


def test_how_long_a_busy_device_works_without_the_profiler() -> None:
    document = example.judged("compile", eager=Form(3.2, 3.0, 3.4, "predicted"))
    document["attribution"]["classes"]["kernel"]["ns"] = 9_000_000
    document["attribution"]["classes"]["dispatch"]["ns"] = 200_000
    said = phrases.boundness(document)
    assert said == "75 % of the traced step device 0 works; without the profiler for about 94 %."
    document["forms"]["eager"]["step_ms"] = 2.0
    assert "without" not in phrases.boundness(document), "less than the device works is no share of it"
    document["forms"]["eager"]["step_ms"] = 4.4
    assert "without" not in phrases.boundness(document), "no device idles because nothing is recorded"


def test_a_device_that_waits_only_for_the_profilers_host() -> None:
    document = example.judged("compile", eager=Form(2.0, 1.8, 2.2, "predicted"))
    document["attribution"]["classes"]["kernel"]["ns"] = 5_700_000
    document["attribution"]["classes"]["dispatch"]["ns"] = 4_000_000
    assert phrases.boundness(document) == (
        "57 % of the traced step device 0 waits for the host; without the profiler it idles for about 5 %."
    )


def test_a_device_that_idles_for_more_than_the_host_idles_without_the_profiler() -> None:
    document = example.judged("compile", eager=Form(3.0, 2.8, 3.2, "predicted"))
    classes = document["attribution"]["classes"]
    classes["kernel"]["ns"], classes["sync"]["ns"], classes["launch"]["ns"] = 3_000_000, 0, 0
    classes["dispatch"]["ns"], classes["unknown"]["ns"] = 6_000_000, 3_000_000
    assert phrases.boundness(document) == (
        "50 % of the traced step device 0 waits for the host; without the profiler it idles for about 67 %."
    ), "idle time that the trace does not explain is no wait for the host"


def test_a_unit_that_repeats_is_called_no_step() -> None:
    document = example.judged("replay", eager=Form(2.0, 1.8, 2.2, "predicted"))
    document["window"]["kind"] = "period"
    assert "of the traced unit" in phrases.boundness(document)
    assert phrases.over(document) == "over 3 traced units"
    assert phrases.unit(document) == "the unit"
    assert " ms a unit, " in phrases.step(document)
