"""What is open: a trace with its analysis, its advice and the document that says both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracelens.advice.results import Advice
    from tracelens.analysis.results import Analysis
    from tracelens.loading.runs import Run
    from tracelens.model.events import Trace
    from tracelens.reporting.report import Report
    from tracelens.reporting.schema import Document
    from tracelens.tui.costs import Cost
    from tracelens.tui.links import Portion


@dataclass(frozen=True, eq=False)
class Session:
    """One trace, judged over one window. Everything that is slow to make is made when it is first asked for."""

    path: str
    analysis: Analysis
    advice: Advice
    document: Document
    """Without the rows of its tables."""
    costs: tuple[Cost, ...]
    """The largest ones, largest first."""
    portion: Portion
    """What of the trace was asked for."""
    run: Run | None = None
    """The run that the trace was opened for: its measured forms are the document's."""

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.analysis.trace

    @property
    def report(self) -> Report:
        """The whole report, for export."""
        from tracelens.reporting.report import Report

        return Report(self.analysis, self.advice, self.run)


def judge(
    path: str,
    trace: Trace,
    portion: Portion,
    run: Run | None = None,
) -> Session:
    """Analyze a portion of a trace and advise on it as `tracelens report` does; errors are those of `analyze`."""
    # Deferred, so that what only looks at a session need not load the analysis.
    from tracelens.advice import advise
    from tracelens.analysis import analyze
    from tracelens.reporting.document import build
    from tracelens.tui.costs import largest_costs

    analysis = analyze(trace, device=portion.device, step=portion.step, span=portion.range)
    advice = advise(analysis, run.forms if run else None)
    document = build(analysis, advice, run, limit=0)
    costs = tuple(largest_costs(analysis))
    return Session(path, analysis, advice, document, costs, portion, run)
