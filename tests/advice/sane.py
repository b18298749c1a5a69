"""What holds for every finding of every trace."""

from __future__ import annotations

from tracelens.advice.results import Advice
from tracelens.advice.rules import RULES
from tracelens.advice.rules.rule import now_ms
from tracelens.analysis.handles import resolve
from tracelens.analysis.results import Analysis

COMPILES = "Compile the region"
REPLAYS = "Launch less: replay a CUDA Graph"
OF_RECORDING = {rule.id for rule in RULES if rule.of_recording}


def expect_sane_findings(analysis: Analysis, advice: Advice) -> None:
    """Savings are part of the step, evidence resolves, and no advice contradicts the verdict, as the step is or once
    repaired."""
    verdict, now = advice.recommendation.verdict, now_ms(analysis, advice.forms)
    after = advice.recommendation.after_fix
    advised = {verdict, after.verdict} if after else {verdict}
    for finding in advice.findings:
        assert finding.title
        assert finding.advice
        assert finding.severity in ("info", "warning", "critical")
        assert finding.saving_ms is None or now is None or 0 < finding.saving_ms <= now
        for handle in finding.evidence:
            resolve(analysis.trace, handle, analysis.numbered)
        if advised == {"neither"}:
            assert not finding.advice.startswith(REPLAYS)
        if not advised & {"compile", "both", "abstain"}:
            assert not finding.advice.startswith(COMPILES)
        if all(form.step_ms is None for form in advice.forms.values()):
            assert finding.rule in OF_RECORDING
    assert len({finding.rule for finding in advice.findings}) == len(advice.findings)
