"""What is found in the ranks of a job beside their verdict."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import collective
from tests.advice.story import Beat, gemm, item, pointwise
from tests.advice.test_job import early, late, rank, waiting_on_host
from tracelens.advice.choice.job import Job, judge
from tracelens.advice.choice.rank import Rank
from tracelens.advice.results import Finding

LAUNCHES: list[Beat] = [pointwise(2, host=30)] * 80


def job_of(*ranks: Rank) -> Job:
    job = judge(ranks)
    assert job is not None
    return job


def by_rule(job: Job) -> dict[str, Finding]:
    return {finding.rule: finding for finding, _ in job.findings}


def step_of(job: Job, name: str) -> float:
    step = job.forms[name].step_ms
    assert step is not None
    return step


def test_a_finding_saves_what_the_forms_of_the_job_differ_by() -> None:
    blocked = rank("1", *LAUNCHES[:40], item(), *LAUNCHES[40:])
    job = job_of(rank("0", *LAUNCHES), blocked)
    assert job.advised.verdict == "compile"
    gain = step_of(job, "eager") - step_of(job, "compile")
    assert by_rule(job)["host_bound_dispatch"].saving_ms == pytest.approx(gain)


def test_no_finding_advises_what_the_verdict_denies() -> None:
    able = late("0")
    own = {finding.rule: finding for finding in able.advice.findings}
    assert {"fusable_chains", "captured_collectives"} < own.keys()
    assert "replay a CUDA Graph" in own["host_bound_dispatch"].advice
    job = job_of(able, waiting_on_host("1", 4))
    found = by_rule(job)
    assert job.advised.verdict == "neither"
    assert found.keys() == {"sync_points", "host_bound_dispatch"}
    assert found["host_bound_dispatch"].saving_ms is None
    assert "replay a CUDA Graph" not in found["host_bound_dispatch"].advice


def test_what_saves_only_ranks_that_then_wait_is_left_out() -> None:
    waiting = early("0")
    assert {finding.rule for finding in waiting.advice.findings} == {"late_rank", "exposed_communication"}
    job = job_of(waiting, late("1"))
    assert not by_rule(job).keys() & {"late_rank", "exposed_communication"}


def test_what_another_rank_than_the_longest_has_to_repair_is_found_there() -> None:
    shorter = rank("1", *[*[pointwise(2, host=30)] * 20, item()] * 2)
    job = job_of(rank("0", *LAUNCHES), shorter)
    assert job.longest.name == "0"
    assert [by.name for finding, by in job.findings if finding.rule == "sync_points"] == ["1"]
    assert by_rule(job)["sync_points"].evidence[0].startswith("s-")
    assert job.repairs == (("1",),)


def test_a_repair_saves_the_job_what_its_longest_rank_is_shorter_by() -> None:
    ranks = [waiting_on_host("0", 6), waiting_on_host("1", 3)]
    job = job_of(*ranks)
    own = {one.name: {f.rule: f.saving_ms for f in one.advice.findings}["sync_points"] or 0.0 for one in ranks}
    left = max((one.advice.forms["eager"].step_ms or 0.0) - own[one.name] for one in ranks)
    assert by_rule(job)["sync_points"].saving_ms == pytest.approx(step_of(job, "eager") - left)


def test_savings_are_no_longer_than_the_step_and_come_by_size() -> None:
    job = job_of(early("0"), late("1"))
    savings = [finding.saving_ms or 0.0 for finding, _ in job.findings]
    assert savings == sorted(savings, reverse=True)
    assert max(savings) <= step_of(job, job.now)


def test_the_ranks_are_not_to_be_compared_once_more() -> None:
    busy = [*[gemm(15)] * 4, collective(190, 57)]
    ranks = [rank(name, *busy) for name in "01"]
    own = {finding.rule: finding for finding in ranks[0].advice.findings}
    assert "compare ranks" in own["exposed_communication"].advice
    found = by_rule(job_of(*ranks))["exposed_communication"]
    assert "compare ranks" not in found.advice
    assert found.saving_ms == own["exposed_communication"].saving_ms


def test_a_rank_that_waits_is_host_bound_as_its_own_step_is() -> None:
    waiting = [rank(name, *LAUNCHES, collective(1_000, 57)) for name in "01"]
    own = {finding.rule: finding for finding in waiting[0].advice.findings}
    job = job_of(*waiting)
    assert waiting[0].waits_ms > 0.7
    found = by_rule(job)["host_bound_dispatch"]
    assert found.title == own["host_bound_dispatch"].title
    fastest = min(form.step_ms for form in job.forms.values() if form.step_ms is not None)
    assert 0 < (found.saving_ms or 0.0) <= step_of(job, job.now) - fastest
