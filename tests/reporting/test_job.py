"""What is printed of the ranks of a job."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.advice.story import call
from tests.advice.test_job import early, late, rank
from tracelens.advice.choice.job import judge
from tracelens.reporting import job


def test_the_ranks_have_one_verdict_a_reason_and_a_row_each() -> None:
    ranks = [early("0"), late("1")]
    text = job.to_text(ranks, judge(ranks))
    told = " ".join(text.split())
    assert told.startswith("Compile, on all 2 ranks: 1.66 -> 0.23 ms (predicted ")
    assert "By themselves ranks differ: both for 1; neither for 0." in told
    assert "Rank 1 is late: the others wait for it in collectives, rank 0 for 2." in told
    assert [line.split()[:2] for line in text.splitlines()[-2:]] == [["0", "neither"], ["1", "both"]]
    assert max(map(len, text.splitlines())) <= 80


def test_ranks_that_agree_and_do_not_wait_are_not_said_to_differ() -> None:
    ranks = [late("0"), late("1")]
    told = " ".join(job.reasons(ranks, judge(ranks)))
    assert "differ" not in told
    assert "is late" not in told


def test_ranks_that_all_wait_do_so_for_one_that_is_not_given() -> None:
    ranks = [replace(early("0"), world=8), replace(early("3"), world=8)]
    found = judge(ranks)
    assert "on 2 of the job's 8 ranks" in job.headline(ranks, found)
    assert json.loads(job.to_json(ranks, found))["job"]["latest"] is None
    assert "The rank that is late is not among them." in " ".join(job.reasons(ranks, found))


def test_ranks_without_a_verdict_say_which_has_none() -> None:
    ranks = [late("0"), rank("1", call("cudaEventRecord", 1))]
    assert job.headline(ranks, judge(ranks)).startswith("No verdict for all 2 ranks: rank 1: ")
    assert json.loads(job.to_json(ranks, judge(ranks)))["job"] is None


def test_json_has_the_job_and_its_ranks() -> None:
    ranks = [early("0"), late("1")]
    found = json.loads(job.to_json(ranks, judge(ranks)))
    assert (found["job"]["verdict"], found["job"]["latest"]) == ("compile", "1")
    assert [(one["rank"], one["verdict"]) for one in found["ranks"]] == [("0", "neither"), ("1", "both")]
    assert found["summary"].startswith("Compile, on all 2 ranks")
