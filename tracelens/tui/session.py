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
    """One trace, judged over one window."""

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
