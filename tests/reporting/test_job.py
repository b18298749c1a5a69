"""What is printed of the ranks of a job."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.advice.cases.beats import collective
from tests.advice.story import call, pointwise
from tests.advice.test_job import early, late, rank, waiting_on_host
from tracelens.advice.choice.job import judge
from tracelens.advice.choice.one_job import kinship
from tracelens.advice.choice.rank import Rank
from tracelens.advice.explain.explain import explain
from tracelens.reporting import job
from tracelens.reporting.job import JobReport
from tracelens.reporting.job_pages import to_markdown, to_text


def judged(*ranks: Rank) -> JobReport:
    kin = kinship(ranks)
    return JobReport(ranks, judge(ranks, kin.doubts), kin)


def plain(report: JobReport) -> str:
    return " ".join(to_text(report).split())


def parsed(report: JobReport) -> dict[str, Any]:
    return json.loads(report.to_json())


def test_the_ranks_have_one_verdict_a_reason_and_a_row_each() -> None:
    text = to_text(judged(early("0"), late("1")))
    told = " ".join(text.split())
    assert told.startswith("! Trust of rank 0: only 9 device events ran in the window")
    assert "2 ranks. Compile: 1.66 -> 0.23 ms (predicted " in told
    assert "By themselves ranks differ: both for rank 1; neither for rank 0." in told
    assert "Rank 1 is late: the others wait for it in collectives, rank 0 for 2." in told
    assert "as they run now that is rank 1." in told
    rows = [line.split()[:2] for line in text.splitlines()]
    assert ["0", "neither"] in rows
    assert ["1", "both"] in rows


def test_the_verdict_comes_with_all_that_a_report_says_of_it() -> None:
    told = plain(judged(waiting_on_host("0", 4), waiting_on_host("1", 6)))
    for said in (
        "Repair first (6 waits for the device a step): both",
        "Replay blocked: 6 waits for the device a step.",
        "By the ranges ",
        "Four ways to run the step",
        "compile, replay, both: 6 waits for the device a step",
        "counts and handles of the rank that is named",
        "# once it is repaired",
    ):
        assert said in told


def test_no_finding_of_the_job_is_left_out() -> None:
    report = judged(late("0"), late("1"))
    assert report.job is not None
    finding, shown_by = report.job.findings[0]
    many = tuple((replace(finding, title=f"finding number {number}"), shown_by) for number in range(9))
    told = plain(replace(report, job=replace(report.job, findings=many)))
    assert all(f": finding number {number}." in told for number in range(9))
    assert "--limit" not in told


def test_the_times_of_the_job_are_the_longest_of_the_rows() -> None:
    report = judged(early("0"), late("1"))
    found = parsed(report)
    for name, form in found["job"]["forms"].items():
        assert form["step_ms"] == max(one["alone"][name]["step_ms"] for one in found["ranks"])
    assert all(one["forms"]["eager"]["step_ms"] > one["alone"]["eager"]["step_ms"] for one in found["ranks"][:1])


def test_the_time_after_repairs_is_the_longest_of_the_rows() -> None:
    found = parsed(judged(waiting_on_host("0", 4), waiting_on_host("1", 6)))
    after = found["job"]["after_fix"]
    assert after["verdict"] == "both"
    assert after["step_ms"] == max(one["repaired"]["step_ms"] for one in found["ranks"])
    assert all(one["repaired"] is None for one in parsed(judged(early("0"), late("1")))["ranks"])


def test_marks_and_columns_are_explained_where_they_are_shown() -> None:
    told = plain(judged(waiting_on_host("0", 4), waiting_on_host("1", 6)))
    assert "-: cannot run, or nothing tells of it; repaired: both once the repairs are made." in told
    assert "waits: " not in told
    assert "waits: ms in collectives" in plain(judged(early("0"), late("1")))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_all_forms_are_shown_on_a_page_of_any_width_and_names_of_any_length(width: int) -> None:
    ranks = [late(f"a_rather_long_name_of_a_host_and_of_a_process_{end}") for end in ("first", "second")]
    lines = to_text(judged(*ranks), width=width).splitlines()
    (titles,) = [line for line in lines if line.split()[:1] == ["rank"] and "eager" in line]
    assert {"eager", "compile", "replay", "both"} <= set(titles.split())
    rows = lines[lines.index(titles) + 1 :][:2]
    assert rows[0].split()[0] != rows[1].split()[0]


def test_ranks_that_agree_and_do_not_wait_are_not_said_to_differ() -> None:
    told = " ".join(job.reasons(judged(late("0"), late("1"))))
    assert "differ" not in told
    assert "is late" not in told


def test_ranks_that_all_wait_do_so_for_one_that_is_not_given() -> None:
    report = judged(replace(early("0"), world=8), replace(early("3"), world=8))
    assert job.headline(report).startswith("2 of the job's 8 ranks. ")
    assert parsed(report)["job"]["latest"] is None
    assert "The rank that is late is not among them." in " ".join(job.reasons(report))


def test_ranks_without_a_verdict_say_which_has_none() -> None:
    report = judged(late("0"), rank("1", call("cudaEventRecord", 1)))
    assert job.headline(report).startswith("2 ranks. No verdict. Rank 1: ")
    assert parsed(report)["job"] is None
    assert ["1", "none", "-"] in [line.split()[:3] for line in to_text(report).splitlines()]


def test_of_many_ranks_that_are_alike_the_first_are_named() -> None:
    report = judged(early("0"), *(late(str(number)) for number in range(1, 12)))
    assert "both for ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more; neither for rank 0." in plain(report)


def test_what_speaks_against_one_job_comes_first() -> None:
    ranks = [rank(name, *[pointwise(2, host=30)] * 40) for name in ("a.json", "b.json")]
    report = judged(*ranks)
    assert to_text(report).startswith("! Nothing shows that these are ranks of one job")
    assert "less as they may be no ranks of one job." in plain(report)
    assert parsed(report)["doubt"].startswith("nothing shows")


def test_markdown_has_the_verdict_the_forms_and_the_ranks() -> None:
    text = to_markdown(judged(early("0"), late("1")))
    assert "### 2 ranks. Compile: 1.66 → 0.23 ms" in text
    assert "| **compile** |" in text
    assert "| rank | by itself | sure | eager | compile | replay | both | waits | repaired |" in text
    assert "| 0 | neither | " in text


def test_json_has_the_job_and_its_ranks() -> None:
    found = parsed(judged(early("0"), late("1")))
    assert (found["job"]["verdict"], found["job"]["latest"], found["job"]["longest"]) == ("compile", "1", "1")
    assert [(one["rank"], one["verdict"]) for one in found["ranks"]] == [("0", "neither"), ("1", "both")]
    assert found["summary"].startswith("2 ranks. Compile")


def test_a_finding_names_its_rank_and_the_page_what_it_is_of() -> None:
    report = judged(waiting_on_host("0", 4), waiting_on_host("r.json", 6))
    told, found = plain(report), parsed(report)
    assert "savings of the job's step without the profiler; counts and handles of the rank that is named" in told
    assert "- r.json: 6 waits for the device a step drain the queue" in told
    assert "the rank that is named" in to_markdown(report)
    assert {finding["rank"] for finding in found["job"]["findings"]} <= {"0", "r.json"}


def test_what_only_some_ranks_have_to_repair_is_said_of_them() -> None:
    waits, plain_one = waiting_on_host("1", 4), rank("0", *[pointwise(2, host=30)] * 80)
    told = plain(judged(plain_one, waits))
    assert "Only rank 1 has 4 waits for the device a step (aten::_local_scalar_dense; s-" in told
    assert [fix["ranks"] for fix in parsed(judged(plain_one, waits))["job"]["fix_first"]] == [["1"]]
    assert "Only rank" not in plain(judged(waiting_on_host("0", 4), waits))


def test_the_rank_that_is_late_is_the_next_step() -> None:
    told = plain(judged(early("0"), late("1")))
    assert "1. Look at rank 1: its host, its data or its pauses hold up the others; rank 0 waits 2." in told
    assert "1. Look at rank 1" in to_markdown(judged(early("0"), late("1")))
    assert "Look at" not in plain(judged(late("0"), late("1")))


def test_where_the_late_rank_is_not_given_its_trace_is_the_next_step() -> None:
    some, every = ([replace(early(name), world=world) for name in "01"] for world in (8, 2))
    assert "Give the traces of the other ranks as well" in plain(judged(*some))
    told = plain(judged(*every))
    assert "Now one is late, now another." in told
    assert "not among them" not in told
    assert "1. Look at the steps in which a rank is late" in told


def test_a_late_rank_whose_steps_are_short_is_late_before_them() -> None:
    short = rank("1", *[pointwise(2, host=30)] * 20, collective(30, 57))
    told = plain(judged(early("0"), short))
    assert "Rank 1 is late" in told
    assert "what makes it late lies before its counted steps, and in no time of the job." in told
    assert "lies before" not in plain(judged(early("0"), late("1")))


def test_how_many_ranks_the_job_has_is_said_as_far_as_it_is_known() -> None:
    ranks = [late("0"), late("1")]
    for world, told in ((None, "2 ranks. "), (2, "All 2 ranks. "), (3, "2 of the job's 3 ranks. ")):
        assert job.headline(judged(*(replace(rank, world=world) for rank in ranks))).startswith(told)


def test_a_rank_whose_verdict_is_a_guess_is_said_to_be_guessed() -> None:
    sure, other = late("0"), early("1")
    advised = replace(other.advice.recommendation, decided=False)
    guessed = replace(other, advice=replace(other.advice, recommendation=advised))
    told = plain(judged(sure, guessed))
    assert "By themselves ranks differ: both for rank 0; neither at a guess for rank 1." in told
    assert "?: a guess, which decides nothing" in told


def test_no_column_is_explained_that_a_narrow_page_leaves_out() -> None:
    report = judged(waiting_on_host("0", 4), waiting_on_host("1", 6))
    narrow = to_text(report, width=40).split("Each rank without its waits")[1]
    assert "A wider page shows" in narrow
    assert "repaired:" not in narrow
    assert "repaired:" in to_text(report)


def test_a_file_keeps_its_name_where_a_sentence_begins() -> None:
    report = judged(late("0"), rank("nothing.json", call("cudaEventRecord", 1)))
    assert "No verdict. nothing.json: " in job.headline(report)


def test_the_form_that_a_repaired_rank_is_to_run_in_is_named() -> None:
    found = parsed(judged(waiting_on_host("0", 4), waiting_on_host("1", 6)))
    assert {one["repaired"]["form"] for one in found["ranks"]} == {found["job"]["after_fix"]["verdict"]}


@pytest.mark.parametrize("name", ["job", "doubt", "now", "waits_ms", "alone", "latest", "longest", "repaired", "notes"])
def test_the_keys_of_the_document_of_a_job_are_explained(name: str) -> None:
    assert explain(name)
