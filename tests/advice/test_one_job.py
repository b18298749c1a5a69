"""Whether traces are taken for ranks of one job."""

from __future__ import annotations

from dataclasses import replace

from tests.advice.cases.beats import collective, graph
from tests.advice.story import gemm, pointwise
from tests.advice.test_job import late, rank
from tracelens.advice.choice.job import judge
from tracelens.advice.choice.one_job import Kinship, kinship

ONE, OTHER = [pointwise(2, host=30)] * 40, [gemm(15)] * 40


def test_ranks_that_communicate_and_run_alike_are_of_one_job() -> None:
    assert kinship([late("0"), late("1")]) == Kinship()


def test_traces_of_other_kernels_are_strangers_unless_they_name_their_ranks() -> None:
    ranks = [rank("one.json", *ONE), rank("other.json", *OTHER)]
    found = kinship(ranks)
    assert found.strangers == "one.json and other.json have 0 % of their kernels' names in common"
    named = kinship([replace(one, name=name, world=2) for one, name in zip(ranks, "01", strict=True)])
    assert not named.strangers
    assert named.doubt == "hardly one program: rank 0 and rank 1 have 0 % of their kernels' names in common"


def test_a_program_in_another_form_is_no_other_program() -> None:
    assert not kinship([rank("0", *ONE, collective(30, 57)), rank("1", graph(40, 10.0))]).strangers


def test_a_job_that_nothing_shows_is_doubted() -> None:
    ranks = [rank("a.json", *ONE), rank("b.json", *ONE)]
    found = kinship(ranks)
    assert found.doubt.startswith("nothing shows that these are ranks of one job")
    sure, less = judge(ranks), judge(ranks, found.doubts)
    assert sure is not None
    assert less is not None
    assert less.advised.factors == {**sure.advised.factors, "unrelated": 0.7}
    assert less.advised.confidence < sure.advised.confidence
    assert kinship([replace(one, world=2) for one in ranks]) == Kinship()
