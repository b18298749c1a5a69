"""Judges a portion of a trace: analysis, advice and the document that says both."""

from __future__ import annotations

from tracelens.advice import advise
from tracelens.analysis import analyze
from tracelens.loading.runs import Run
from tracelens.model.events import Trace
from tracelens.reporting.document import build
from tracelens.tui.costs import largest_costs
from tracelens.tui.links import Portion
from tracelens.tui.session import Session


def judge(path: str, trace: Trace, portion: Portion, run: Run | None = None) -> Session:
    """As `tracelens report` judges it; errors are those of `analyze`."""
    analysis = analyze(trace, device=portion.device, step=portion.step, span=portion.range)
    advice = advise(analysis, run.forms if run else None, run.target if run else None)
    document = build(analysis, advice, run, limit=0)
    return Session(path, analysis, advice, document, tuple(largest_costs(analysis)), portion, run)
