"""What the rules share that each watch one part of the account."""

from __future__ import annotations

from tracelens.advice.results import Finding
from tracelens.advice.rules.rule import EVIDENCE, per_step_ms, severity
from tracelens.analysis.parts import Part
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent


def lost_time(analysis: Analysis, rule: str, part: Part, least: float, title: str, advice: str) -> Finding | None:
    """A finding where a part takes at least this share (0..1) of the window; its longest gaps are the evidence.

    `title` shows the {share}; the saving is the part's time per step in ms."""
    share = analysis.attribution.share(part.class_name, part.part_name)
    if share < least:
        return None
    saving = per_step_ms(analysis, analysis.attribution.parts[part.class_name][part.part_name])
    gaps = analysis.gaps
    evidence = tuple(gaps[gaps["part"] == part.part_name].nlargest(EVIDENCE, "ns")["handle"])
    return Finding(rule, severity(share), title.format(share=percent(share)), saving, evidence, advice)
