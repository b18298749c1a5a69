"""What the rules share that each watch one part of the account."""

from __future__ import annotations

from collections.abc import Mapping

from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import EVIDENCE, host_saving_ms, severity
from tracelens.analysis.results import Analysis
from tracelens.model.units import percent


def lost_time(
    analysis: Analysis, forms: Mapping[str, Form], rule: str, part: str, least: float, title: str, advice: str
) -> Finding | None:
    """A finding where a part ("dispatch.input") takes at least this share (0..1) of the window, with its longest gaps
    as evidence.

    `title` shows the {share}; the saving is the part's time per step in ms, without the profiler."""
    class_name, _, part_name = part.partition(".")
    share = analysis.attribution.share(class_name, part_name)
    if share < least:
        return None
    saving = host_saving_ms(analysis, forms, analysis.attribution.parts[class_name][part_name])
    mine = analysis.tables["gaps"].only("class", class_name).only("part", part_name)
    handles = tuple(mine.largest("ns", EVIDENCE)["handle"]) or evidence.gaps_of(analysis, part)
    return Finding(rule, severity(share), title.format(share=percent(share)), saving, handles, advice)
