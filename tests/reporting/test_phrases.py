from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from tests.reporting import example
from tracelens.advice.results import NO_GRAPH, Advice, Blocker, Form
from tracelens.advice.terms import RULES, Terms
from tracelens.reporting import markdown, phrases, runs, text
from tracelens.reporting.report import Report
from tracelens.reporting.schema import Document, FindingEntry

REPAIRED = "After repair (32 .item() a step): both, 0.47 ms (predicted 0.40-0.60)."


def judged(verdict: str, own: str = "eager", **forms: Form) -> Document:
    advice = example.advice()
    recommendation = replace(advice.recommendation, verdict=verdict)
    return Report(replace(example.analysis(), form=own), Advice({**advice.forms, **forms}, recommendation, ())).document


@pytest.mark.parametrize(
    ("verdict", "own", "line"),
    [
        ("replay", "eager", f"Replay: 3.97 -> 0.55 ms (predicted 0.52-0.60). {REPAIRED}"),
        ("both", "compile", f"Both: 3.91 -> 0.47 ms (predicted 0.40-0.60). {REPAIRED}"),
        ("neither", "eager", f"Neither as it is: 3.97 ms (predicted 3.80-4.10). {REPAIRED}"),
        ("replay", "replay", f"Replay, as it runs now: 0.55 ms (predicted 0.52-0.60). {REPAIRED}"),
        ("abstain", "eager", "No verdict. 70 % of the step the GPU waits for the host."),
    ],
)
def test_the_verdict_in_one_line(verdict: str, own: str, line: str) -> None:
    assert phrases.headline(judged(verdict, own)) == line


def test_what_a_repair_allows_is_told_without_the_details_of_what_to_repair() -> None:
    slow = Blocker("host_work", "a data loader that holds up the device for 28 % of the traced time", None, 1.0, "Do.")
    document = judged("compile", eager=Form(4.4, 4.0, 4.9, "measured", blockers=(slow,)))
    document["recommendation"]["fix_first"] = [{"blocker": "host_work", "where": None, "advice": "Do."}]
    assert "After repair (a data loader that holds up the device): both, " in phrases.headline(document)


def test_neither_without_a_repair_that_pays() -> None:
    document = judged("neither")
    document["recommendation"]["after_fix"] = None
    assert phrases.headline(document) == "Neither: the step stays at 3.97 ms (predicted 3.80-4.10)."
    document["window"]["steps"] = None
    assert phrases.headline(document) == "Neither: this stretch stays at 3.97 ms (predicted 3.80-4.10)."


def told(rule: str, saving_ms: float | None) -> FindingEntry:
    """A finding of that rule."""
    finding = {"rule": rule, "severity": "info", "title": "t", "saving_ms": saving_ms, "evidence": [], "advice": "Do."}
    return cast("FindingEntry", finding)


@pytest.mark.parametrize(
    ("finding", "line", "steps"),
    [
        (
            told("pageable_copies", 2.0),
            "Neither form; pin the copies, which saves up to 2.00 ms. Else ",
            ["Do. Saves up to 2.00 ms."],
        ),
        (told("device_limit", None), "Neither form; only cheaper arithmetic helps. Else ", ["Do."]),
        (told("pageable_copies", 0.1), "Neither: ", []),
    ],
)
def test_neither_names_what_helps_instead(finding: FindingEntry, line: str, steps: list[str]) -> None:
    document = judged("neither")
    document["recommendation"] |= {"after_fix": None, "fix_first": [], "snippet": ""}
    document["findings"] = [finding]
    assert phrases.headline(document) == f"{line}the step stays at 3.97 ms (predicted 3.80-4.10)."
    assert phrases.next_steps(document) == steps
    assert ("What to do next" in text.render(document)) == bool(steps)
    assert ("1. Do." in markdown.render(document)) == bool(steps)


def test_a_form_in_use_is_kept() -> None:
    document = judged("neither", "both")
    document["recommendation"] |= {"after_fix": None, "fix_first": []}
    assert phrases.headline(document).startswith("Keep both: the step stays at 0.47 ms")


def test_a_prediction_below_the_device_s_time_says_what_it_counts_on() -> None:
    document = judged("neither")
    document["attribution"]["classes"]["kernel"]["ns"] = 300_000
    assert "less than" not in phrases.after_fix(document)
    document["attribution"]["classes"]["kernel"]["ns"] = 6_000_000
    assert phrases.after_fix(document).endswith(
        "That is less than the 2.00 ms that the device works now: it counts on fused kernels."
    )


def test_a_prediction_with_a_late_rank_says_what_its_low_end_counts_on() -> None:
    document = judged("neither")
    document["attribution"]["classes"]["kernel"]["ns"] = 3_000_000
    after = document["recommendation"]["after_fix"]
    assert after is not None
    after |= {"verdict": "replay", "step_ms": 1.0, "low": 0.4, "high": 1.4}
    assert phrases.after_fix(document) == "After that: replay, 1.00 ms (predicted 0.40-1.40)."
    late: FindingEntry = {
        "rule": "late_rank", "severity": "warning", "title": "", "saving_ms": 2.0, "evidence": [], "advice": ""
    }  # fmt: skip
    document["findings"] = [late]
    assert phrases.after_fix(document).endswith("(predicted 0.40-1.40). At the low end no rank is late for the others.")


def test_a_form_that_the_compiler_did_nothing_for_is_no_alternative() -> None:
    nothing = (Blocker(NO_GRAPH, "compile did nothing (0 graphs), which tells nothing", None, None, ""),)
    document = judged("neither", compile=Form(2.0, 1.9, 2.1, "measured", blockers=nothing))
    assert "Not compile alone: compile did nothing (0 graphs)." in phrases.alternatives(document)


def test_the_account_adds_up_to_the_time_in_its_title() -> None:
    document = judged("replay")
    parts = document["attribution"]["classes"].values()
    mean = sum(entry["ns"] for entry in parts) / 3 / 1e6
    assert phrases.step(document) == f"{mean:.2f} ms a step, the mean of 3 (median 4.00, 3.90-4.10)"
    document["window"]["steps"] = 1
    assert phrases.step(document) == "12.0 ms, 1 step"


def test_the_device_is_named_where_others_worked_too() -> None:
    document = judged("replay")
    document["trace"]["devices"] = [{"id": 0, "name": "GPU", "busy_ns": 9}, {"id": 1, "name": "GPU", "busy_ns": 0}]
    assert phrases.boundness(document) == "85 % of the traced step the GPU waits for the host."
    document["trace"]["devices"] = [{"id": 0, "name": "GPU", "busy_ns": 9}, {"id": 1, "name": "GPU", "busy_ns": 7}]
    assert phrases.boundness(document) == "85 % of the traced step device 0 waits for the host."


@pytest.mark.parametrize(("part", "said"), [("copy", "copies"), ("communication", "communication")])
def test_a_device_that_works_but_does_not_compute(part: str, said: str) -> None:
    document = judged("compile")
    kernel = document["attribution"]["classes"]["kernel"]
    kernel["ns"], kernel["parts"] = 11_000_000, {"compute": 2_000_000, part: 9_000_000}
    told = f"92 % of the traced step device 0 works, 75 % of it in {said} that nothing hides."
    assert phrases.boundness(document) == told


def test_what_the_profiler_costs_is_told_where_it_matters() -> None:
    assert phrases.profiled(judged("replay")) == ""
    predicted = judged("replay", eager=Form(2.0, 1.8, 2.2, "predicted"))
    assert phrases.profiled(predicted) == "4.00 ms recorded under the profiler; 2.00 ms without it (estimated)."
    measured = judged("replay", eager=Form(2.0, 1.8, 2.2, "measured"))
    assert phrases.profiled(measured) == "4.00 ms recorded under the profiler; 2.00 ms without it (measured)."
    slower = phrases.profiled(judged("replay", eager=Form(5.0, 4.8, 5.2, "measured")))
    assert slower.endswith("; 5.00 ms without it (measured, slower for a reason other than recording).")
    limited = Terms("device_ns", "device_bound", {"device_ns": 5e6, "clocks": 1.25})
    limit = phrases.profiled(judged("neither", eager=Form(5.0, 4.8, 5.2, "predicted", terms=limited)))
    assert limit.endswith(
        "; 5.00 ms without it (estimated, at the clocks of a long run, which the power limit lowers)."
    )
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
    known = judged("replay", eager=Form(2.0, 1.8, 2.2, "predicted", terms=launched))
    predicted["forms"]["eager"] = known["forms"]["eager"]
    assert "1.10 ms of that was launched outside the step" in phrases.profiled(predicted)
    predicted["window"]["steps"] = None
    assert phrases.profiled(predicted).startswith("12.0 ms recorded"), "a stretch counts as one step"


def test_of_steps_that_differ_no_mean_is_compared_with_a_typical_one() -> None:
    document = judged("compile", eager=Form(2.0, 1.8, 2.2, "predicted"))
    document["window"]["step_ms"] |= {"min": 1.0, "max": 12.0}
    assert phrases.profiled(document) == "Steps differ; a typical one takes 2.00 ms without the profiler (estimated)."
    assert phrases.boundness(document) == "85 % of the traced step device 0 waits for the host."


def test_how_long_the_device_waits_without_the_profiler() -> None:
    document = judged("replay", eager=Form(2.0, 1.8, 2.2, "measured"))
    kernel_ms = document["attribution"]["classes"]["kernel"]["ns"] / 3 / 1e6
    assert phrases.boundness(document) == (
        f"85 % of the traced step device 0 waits for the host; without the profiler for about "
        f"{100 * (1 - kernel_ms / 2):.0f} %."
    )


def test_how_long_a_busy_device_works_without_the_profiler() -> None:
    document = judged("compile", eager=Form(3.2, 3.0, 3.4, "predicted"))
    document["attribution"]["classes"]["kernel"]["ns"] = 9_000_000
    document["attribution"]["classes"]["dispatch"]["ns"] = 200_000
    said = phrases.boundness(document)
    assert said == "75 % of the traced step device 0 works; without the profiler for about 94 %."
    document["forms"]["eager"]["step_ms"] = 2.0
    assert "without" not in phrases.boundness(document), "less than the device works is no share of it"
    document["forms"]["eager"]["step_ms"] = 4.4
    assert "without" not in phrases.boundness(document), "no device idles because nothing is recorded"


def test_savings_and_tables_name_the_time_they_are_of() -> None:
    document = judged("replay")
    document["findings"] = [told("sync_points", 0.1)]
    said = text.render(document)
    assert "Why  savings per step without the profiler, counts over 3 traced steps" in said
    assert "Kernels launched over 3 traced steps" in said
    assert "Why (savings per step without the profiler, counts over 3 traced steps)" in markdown.render(document)
    document["window"]["steps"] = None
    assert phrases.savings(document) == "savings without the profiler"
    document["findings"] = []
    assert phrases.savings(document) == ""


def test_a_device_that_waits_only_for_the_profilers_host() -> None:
    document = judged("compile", eager=Form(2.0, 1.8, 2.2, "predicted"))
    document["attribution"]["classes"]["kernel"]["ns"] = 5_700_000
    document["attribution"]["classes"]["dispatch"]["ns"] = 4_000_000
    assert phrases.boundness(document) == (
        "57 % of the traced step device 0 waits for the host; without the profiler it idles for about 5 %."
    )


def test_a_device_of_which_nothing_is_known_neither_works_nor_waits() -> None:
    document = judged("replay")
    document["attribution"]["classes"]["unknown"]["ns"] = document["attribution"]["window_ns"]
    assert phrases.boundness(document) == (
        "For 100 % of the traced step the trace does not say what device 0 waits for."
    )
    document["attribution"]["classes"]["unknown"]["parts"] = {"outside": document["attribution"]["window_ns"]}
    assert phrases.boundness(document) == "", "nothing was recorded there"


def test_unknown_forms_are_named_together() -> None:
    unseen = Form(None, None, None, "predicted", error="not visible")
    document = judged("replay", own="replay", eager=unseen, compile=unseen)
    assert phrases.alternatives(document) == "Both: 0.47 ms. Unknown: eager, compile."


@pytest.mark.parametrize(("world", "rank"), [(2, ", rank 1 of 2"), (None, ", rank 1")])
def test_a_rank_of_an_unknown_number_is_told_alone(world: int | None, rank: str) -> None:
    document = judged("replay", own="both")
    document["trace"]["world_size"] = world
    assert phrases.recorded(document) == f"a compiled and replayed step on NVIDIA H200{rank}, 3 events"


@pytest.mark.parametrize(("ms", "said"), [(0.001, "Saves up to 1.00 us."), (2.98, "Saves up to 2.98 ms."), (None, "")])
def test_savings_have_the_unit_that_suits_them(ms: float | None, said: str) -> None:
    finding = Report(example.analysis(), example.advice()).document["findings"][0]
    finding["saving_ms"] = ms
    assert phrases.saving(finding) == said


def test_a_trace_without_a_device_has_none() -> None:
    document = judged("abstain", own="unknown")
    document["window"]["device"] = -1
    document["trace"]["rank"] = None
    assert phrases.recorded(document) == "form unknown, on no device, 3 events"


def test_a_reason_that_a_check_gave_is_not_repeated() -> None:
    advice = example.advice()
    told = next(check.message for check in example.trust().checks if not check.passed)
    recommendation = replace(advice.recommendation, verdict="abstain", summary=f"No verdict. {told}")
    document = Report(example.analysis(), replace(advice, recommendation=recommendation)).document
    assert phrases.headline(document) == "No verdict."


def test_a_measurement_shows_its_prediction() -> None:
    measured = Form(0.56, 0.55, 0.57, "measured", predicted=(0.553, 0.521, 0.602))
    line = phrases.headline(judged("replay", replay=measured))
    assert line.startswith("Replay: 3.97 -> 0.56 ms (measured 0.55-0.57; predicted 0.52-0.60). ")


def test_without_operators_nothing_is_said_to_be_free() -> None:
    document = judged("replay", replay=Form(0.553, 0.521, 0.602, "predicted"))
    document["trust"]["checks"].append(
        {"id": "no_operators", "passed": False, "value": 0.0, "threshold": 1.0, "message": "no operators are recorded"}
    )
    told = phrases.alternatives(document)
    assert "Nothing in the trace" not in told
    assert told.endswith("What blocks replay may go unseen: the trace has no operators.")


def test_the_other_forms_in_a_few_words() -> None:
    free = Form(0.553, 0.521, 0.602, "predicted")
    blocked = Form(None, None, None, "predicted", blockers=(example.SYNC,))
    assert phrases.alternatives(judged("replay", replay=free)) == (
        "Not compile alone: 3.91 ms. Both: 0.47 ms. Nothing in the trace blocks replay."
    )
    assert phrases.alternatives(judged("both", replay=blocked)) == (
        "Not compile alone: 3.91 ms. Replay blocked: 32 .item() a step. Nothing in the trace blocks both."
    )
    assert phrases.alternatives(judged("replay")).endswith("Blockers of replay: 32 .item() a step at model.py:41.")
    assert phrases.alternatives(judged("abstain")) == ""


def test_who_waits_for_whom() -> None:
    assert phrases.boundness(judged("replay")) == "85 % of the traced step device 0 waits for the host."
    busy = judged("compile")
    busy["attribution"]["classes"]["kernel"]["ns"] = 11_000_000
    busy["window"]["steps"] = None
    assert phrases.boundness(busy) == "92 % of the traced time device 0 works."
    nothing = Report(example.empty_analysis(), example.abstaining()).document
    assert phrases.boundness(nothing) == ""


def test_a_guess_names_the_forms_that_may_be_meant_and_none_of_them() -> None:
    document = judged("replay")
    document["recommendation"] |= {"confidence": 0.49, "decided": False, "after_fix": None}
    line = phrases.headline(document)
    assert line == ("Cannot tell which form is fastest, in ms: both 0.47 (0.40-0.60) or replay 0.55 (0.52-0.60).")
    assert phrases.next_steps(document)[0] == phrases.MEASURE
    assert "1. Measure the forms" in markdown.render(document)
    assert phrases.confidence(document).startswith("Confidence 49 % in replay; evidence")
    assert "Not " not in phrases.alternatives(document)
    document["recommendation"]["decided"] = True
    assert phrases.MEASURE not in phrases.next_steps(document)
    document["findings"] = [told("hip_graphs", None)]
    assert phrases.next_steps(document)[0] == phrases.MEASURE
    assert phrases.headline(document).startswith("Replay: ")


def test_a_guess_that_no_form_pays_denies_none_of_them() -> None:
    blocked = Form(None, None, None, "predicted", blockers=(example.SYNC,))
    document = judged("neither", replay=blocked)
    document["recommendation"] |= {"confidence": 0.4, "decided": False, "after_fix": None}
    assert phrases.headline(document) == (
        "Cannot tell whether a form beats eager 3.97 (3.80-4.10), in ms: both 0.47 (0.40-0.60) or "
        "compile 3.91 (2.50-4.40)."
    )
    assert phrases.alternatives(document) == "Replay blocked: 32 .item() a step."


def test_a_guess_with_one_known_form_says_that_the_others_are_not_shown() -> None:
    unseen = Form(None, None, None, "predicted", error="not visible")
    document = judged("neither", own="both", eager=unseen, compile=unseen, replay=unseen)
    document["recommendation"] |= {"confidence": 0.4, "decided": False, "after_fix": None, "fix_first": []}
    document["findings"] = [told("device_limit", None)]
    assert phrases.headline(document) == (
        "Cannot tell whether another form would pay; the trace shows one, in ms: both 0.47 (0.40-0.60)."
    )


def test_what_was_measured_is_no_guess_however_little_backs_it() -> None:
    forms = {name: Form(time, time, time, "measured") for name, time in (("eager", 2.0), ("replay", 0.5))}
    document = judged(
        "replay", **forms, compile=Form(None, None, None, "measured"), both=Form(None, None, None, "measured")
    )
    document["recommendation"]["confidence"] = 0.4
    assert phrases.headline(document).startswith("Replay: 2.00 -> 0.50 ms")


def test_confidence_is_of_the_step_as_it_is() -> None:
    document = judged("neither")
    stays, now = "Confidence 85 % that no other form saves over 5 %", "the step as it is, none for after its repair;"
    assert phrases.confidence(document).startswith(f"{stays} of {now}")
    assert phrases.confidence(judged("replay")).startswith(f"Confidence 85 % for {now}")
    document["recommendation"]["after_fix"] = None
    assert phrases.confidence(document).startswith(f"{stays};")


def test_a_form_that_failed_says_how_in_one_line_of_bounded_length() -> None:
    failed = Form(None, None, None, "measured", error="RuntimeError: boom " + "x" * 5_000 + "\nsecond")
    document = judged("neither", compile=failed)
    told = phrases.alternatives(document)
    assert "Compile failed: RuntimeError: boom xxx" in told
    assert "Unknown" not in told
    assert "second" not in text.render(document)
    assert "x" * 300 not in text.render(document) + markdown.render(document)


@pytest.mark.parametrize(("error", "said"), [(0.0, "differ from eager's"), (0.25, "differ from eager's by up to 0.25")])
def test_a_form_whose_outputs_differ_says_so_and_pays_for_nothing(error: float, said: str) -> None:
    wrong = Form(0.5, 0.5, 0.5, "measured", outputs="differ", largest_error=error, break_even_steps=9.0, setup_s=1.0)
    document = judged("neither", replay=wrong)
    row = next(row for row in phrases.form_rows(document) if row.name == "replay")
    assert row.blocked_by.endswith(said)
    assert row.pays_after == ""
    assert runs.set_up(document) == ""
    assert "Not replay: 0.50 ms, its outputs differ." in phrases.alternatives(document)


def test_a_set_up_is_told_as_what_it_takes_beyond_eager_s() -> None:
    eager = Form(2.0, 1.9, 2.1, "measured", setup_s=0.05)
    replay = Form(0.5, 0.5, 0.5, "measured", setup_s=0.35, break_even_steps=200.0)
    document = judged("replay", eager=eager, replay=replay)
    assert runs.set_up(document) == "The set-up beyond eager's has paid after: replay 200 steps (0.300 s)."


def test_steps_that_are_alike_have_one_length() -> None:
    document = judged("replay")
    document["attribution"]["window_ns"] = 5 * 565_000
    document["window"] |= {"steps": 5, "step_ms": {"median": 0.565, "min": 0.565, "max": 0.565}}
    assert phrases.step(document) == "0.56 ms a step, each of 5"


def test_a_saving_says_whether_it_is_the_most_or_what_is_expected() -> None:
    assert phrases.saving(told("sync_points", 2.0)) == "Saves up to 2.00 ms."
    assert phrases.saving(told("host_bound_dispatch", 2.0)) == "Saves about 2.00 ms."


def test_communication_that_takes_much_is_named_at_once() -> None:
    document = judged("neither")
    classes = document["attribution"]["classes"]
    classes["kernel"] = {"ns": 11_000_000, "parts": {"compute": 5_000_000, "communication": 6_000_000}}
    assert "% of it in communication that nothing hides." in phrases.boundness(document)


def test_a_measured_step_of_the_host_says_what_its_range_leaves_out() -> None:
    host = judged("replay", eager=Form(5.0, 4.9, 5.1, "measured"))
    assert runs.between_processes(host).endswith("another process may take about 20 % more or less.")
    assert runs.between_processes(judged("replay")) == ""
    host["attribution"]["classes"]["kernel"]["ns"] = 15_000_000
    assert runs.between_processes(host) == ""


def test_a_form_whose_batches_differ_much_is_hardly_known() -> None:
    document = judged("replay", compile=Form(6.7, 1.3, 87.1, "measured"), eager=Form(172.0, 164.0, 185.0, "measured"))
    (told,) = runs.warnings(document)
    assert told.startswith("compile: equal batches of steps took 1.3-87.1 ms a step")


def test_a_form_that_ran_though_the_trace_forbids_it_says_so() -> None:
    ran = Form(0.5, 0.5, 0.5, "measured")
    eager = Form(4.0, 3.9, 4.1, "measured", predicted=(4.1, 3.0, 5.0))
    told = {row.name: row.predicted for row in phrases.form_rows(judged("replay", eager=eager, replay=ran))}
    assert told["replay"] == "cannot run"
    assert told["compile"] == ""
    assert not any(row.predicted for row in phrases.form_rows(judged("replay", replay=ran)))


def test_a_verdict_on_a_unit_that_may_be_a_layer_says_so_at_once() -> None:
    document = judged("replay")
    document["window"] |= {"kind": "period", "name": "repeated unit of 12 launches"}
    unit = "That is of a repeated unit of 12 launches, which may be but a layer of the step: no steps are annotated."
    assert phrases.headline(document).endswith(f" {unit}")
    assert " ms a unit, the mean of 3" in phrases.step(document)
    for form in document["forms"].values():
        form["source"] = "measured"
    assert unit not in phrases.headline(document)
    assert unit not in phrases.headline(judged("replay"))


def test_a_rule_that_decides_a_predicted_time_is_said_once_below_the_forms() -> None:
    def ruled(rule: str) -> Form:
        return Form(3.9, 2.0, 5.9, "predicted", terms=Terms("eager_ns", rule, {"eager_ns": 3.9e6}))

    both = judged("replay", compile=ruled("stays_eager"), both=ruled("stays_eager"))
    assert phrases.blocked_forms(both)[RULES["stays_eager"]] == ["compile", "both"]
    assert RULES["stays_eager"] in " ".join(text.render(both, width=200).split())
    assert markdown.render(both).count(RULES["stays_eager"]) == 2
    bound = judged("replay", both=ruled("device_bound"))
    measured = judged("replay", both=replace(ruled("stays_eager"), source="measured"))
    assert (
        list(phrases.blocked_forms(bound))
        == list(phrases.blocked_forms(measured))
        == ["32 .item() a step at model.py:41"]
    )
