"""One verdict for the ranks of a job, which wait for each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advice.cases.beats import collective, graph, inside
from tests.advice.story import Beat, analysis, call, gemm, item, pointwise, upload
from tracelens.advice import advise
from tracelens.advice.choice.job import judge
from tracelens.advice.choice.rank import Rank
from tracelens.model.units import NS_PER_MS

FEW_BYTES = 57
LATE_US, WAITS_US = 30, 2_500


def rank(name: str, *beats: Beat) -> Rank:
    found = analysis(*beats)
    return Rank(name, found, advise(found))


def late(name: str = "1") -> Rank:
    """A rank whose host launches slowly, so that its collective is short."""
    return rank(name, *[pointwise(2, host=30)] * 80, collective(LATE_US, FEW_BYTES))


def waiting_on_host(name: str, waits: int) -> Rank:
    """A rank that reads so many values on the host, between few launches each."""
    return rank(name, *[*[pointwise(2, host=30)] * 20, item()] * waits)


def early(name: str = "0") -> Rank:
    """One that has little to launch, and waits."""
    return rank(name, *[gemm(15)] * 2, collective(WAITS_US, FEW_BYTES))


def step_ms(found: Rank, form: str) -> float:
    step = found.advice.forms[form].step_ms
    assert step is not None
    return step


def test_the_job_is_judged_by_the_rank_that_the_others_wait_for() -> None:
    waiting, slow = early(), late()
    assert waiting.advice.recommendation.verdict == "neither"
    job = judge([waiting, slow])
    assert job is not None
    assert job.advised.verdict != "neither"
    assert job.advised.decided
    assert job.longest is slow
    assert job.latest == "1"
    assert job.forms["eager"].step_ms == pytest.approx(step_ms(slow, "eager") - slow.waits_ms)
    assert waiting.waits_ms > 2 > 0.1 > slow.waits_ms


def test_a_form_takes_the_job_as_long_as_its_longest_rank_alone() -> None:
    waiting, slow = early(), late()
    job = judge([waiting, slow])
    assert job is not None
    for name, form in job.forms.items():
        assert form.step_ms is not None
        assert form.step_ms == pytest.approx(max(step_ms(one, name) - one.waits_ms for one in (waiting, slow)))
        assert form.low is not None
        assert form.high is not None
        assert form.low <= form.step_ms <= form.high


def test_what_one_rank_blocks_no_rank_can_run() -> None:
    blocked = rank("2", *[pointwise(2, host=30)] * 40, item(), *[pointwise(2, host=30)] * 40, collective(LATE_US, 57))
    assert blocked.advice.forms["replay"].step_ms is None
    job = judge([late(), blocked])
    assert job is not None
    assert job.forms["replay"].step_ms is None
    assert [blocker.id for blocker in job.forms["replay"].blockers] == ["sync"]


def test_the_most_doubtful_trace_sets_the_doubt() -> None:
    sure, doubtful = late("0"), late("1")
    advised = replace(doubtful.advice.recommendation, factors={"ranges": 0.95, "degraded": 0.7})
    both = judge([sure, late("1")])
    less = judge([sure, replace(doubtful, advice=replace(doubtful.advice, recommendation=advised))])
    assert both is not None
    assert less is not None
    assert less.advised.confidence == pytest.approx(0.7 * both.advised.confidence, abs=0.01)
    assert less.advised.factors.keys() == {"ranges", "degraded"}


def test_what_single_ranks_repair_first_the_job_repairs_first() -> None:
    ranks = [waiting_on_host("0", 4), waiting_on_host("1", 6)]
    alone = [rank.advice.recommendation for rank in ranks]
    assert all(advised.after_fix for advised in alone)
    job = judge(ranks)
    assert job is not None
    after = job.advised.after_fix
    assert after is not None
    assert {after.verdict} == {advised.after_fix.verdict for advised in alone if advised.after_fix}
    assert after.step_ms == pytest.approx(max(one.after_fix.step_ms for one in alone if one.after_fix))
    assert [blocker.id for blocker in job.advised.fix_first] == ["sync"]
    assert [blocker.per_step for blocker in job.advised.fix_first] == [6.0]
    assert job.advised.snippet


@pytest.mark.parametrize("beats", [[gemm(15)] * 40, [pointwise(2, host=30)] * 40, [*[gemm(15)] * 4, item()] * 4])
def test_ranks_that_are_alike_are_advised_together_what_each_is(beats: list[Beat]) -> None:
    ranks = [rank(name, *beats) for name in "01"]
    alone, job = ranks[0].advice, judge(ranks)
    assert job is not None
    assert job.forms == alone.forms
    assert job.advised == replace(alone.recommendation, evidence=())
    assert [finding for finding, _ in job.findings] == list(alone.findings)


def test_a_repair_that_one_rank_needs_all_need() -> None:
    job = judge([waiting_on_host("0", 4), rank("1", *[pointwise(2, host=30)] * 90)])
    assert job is not None
    assert job.forms["replay"].step_ms is None
    assert [blocker.id for blocker in job.advised.fix_first] == ["sync"]


def test_waits_that_ranks_make_in_other_ways_are_all_to_repair() -> None:
    copying = inside("aten::copy_", upload("HtoD (Pinned -> Device)"), call("cudaStreamSynchronize", 20))
    other = rank("1", *[*[pointwise(2, host=30)] * 20, copying] * 2)
    job = judge([waiting_on_host("0", 4), other])
    assert job is not None
    found = [(blocker.id, blocker.where) for blocker in job.advised.fix_first]
    assert found == [("sync", "aten::_local_scalar_dense"), ("sync", "aten::copy_")]
    assert job.repairs == (("0",), ("1",))


def test_the_terms_give_the_time_without_the_waits() -> None:
    waiting = early()
    for form in waiting.alone(waiting.advice.forms).values():
        assert form.terms is not None
        assert form.step_ms is not None
        names = {"max": max, "min": min, **form.terms.values}
        assert eval(form.terms.formula, names) / NS_PER_MS == pytest.approx(form.step_ms, rel=0.01)
        assert form.terms.values["waits_ns"] == pytest.approx(waiting.waits_ms * NS_PER_MS)


def test_ranks_without_a_verdict_or_in_other_forms_have_none_together() -> None:
    nothing = rank("2", call("cudaEventRecord", 1))
    assert nothing.advice.recommendation.verdict == "abstain"
    assert judge([late(), nothing]) is None
    replayed = rank("3", graph(40, 10.0))
    assert replayed.now == "replay"
    assert judge([late(), replayed]) is None


def test_what_a_rank_waits_for_a_late_one_is_nothing_to_overlap() -> None:
    waiting = early()
    found = {finding.rule: finding for finding in waiting.advice.findings}
    saving = found["exposed_communication"].saving_ms
    assert saving is not None
    assert saving < 0.1 * waiting.waits_ms
