"""Public reports of misread traces: each gets its right diagnosis and recommendation."""

from __future__ import annotations

import pytest

from tests.advice.cases import compiled, host, kernels, ranks, recordings, waits
from tests.advice.cases.case import Case
from tests.advice.cases.inexpressible import INEXPRESSIBLE
from tests.advice.sane import expect_sane_findings
from tracelens.advice import advise
from tracelens.analysis import analyze

GROUPS = (host.CASES, waits.CASES, kernels.CASES, ranks.CASES, compiled.CASES, recordings.CASES)
CASES: list[Case] = [case for group in GROUPS for case in group]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}: {case.signature}")
def test_a_report_gets_its_right_answer(case: Case) -> None:
    analysis = analyze(case.trace().trace())
    advice = advise(analysis)
    told = {finding.rule for finding in advice.findings}
    failed = {check.id for check in analysis.trust.checks if not check.passed}
    assert advice.recommendation.verdict in case.verdict.split("|")
    assert set(case.tells.split()) <= told
    assert not set(case.silent.split()) & told
    assert set(case.fails.split()) <= failed
    assert set(case.first.split()) <= {fix.id for fix in advice.recommendation.fix_first}
    assert case.also(analysis, advice)
    expect_sane_findings(analysis, advice)


def test_every_report_is_rebuilt_or_says_why_it_cannot_be() -> None:
    rebuilt = {case.source for case in CASES}
    assert len(rebuilt) + len(INEXPRESSIBLE) == 97
    assert not rebuilt & INEXPRESSIBLE.keys()
    assert all(reason.endswith(".") for reason in INEXPRESSIBLE.values())
