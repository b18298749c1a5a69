"""The report: one document and its renderings, each of which is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tracelens.advice.results import Advice
from tracelens.analysis.results import Analysis
from tracelens.exitcodes import ExitCode
from tracelens.loading.runs import Run
from tracelens.reporting.document import build, rows_of
from tracelens.reporting.schema import SHOWN_ROWS, Document


@dataclass(frozen=True, eq=False)
class Report:
    """What an analysis and its advice say, in every format; `limit` bounds the rows of each table, None shows all."""

    analysis: Analysis
    advice: Advice
    run: Run | None = None
    """The run that the trace belongs to."""

    def __repr__(self) -> str:
        path = self.run.folder if self.run else self.analysis.trace.source.path
        return f"<Report on {path}: {self.advice.recommendation.verdict}>"

    @cached_property
    def document(self) -> Document:
        """The whole report document, schema_version 1 (tracelens.reporting.schema)."""
        return build(self.analysis, self.advice, self.run)

    def to_json(self, *, limit: int | None = None) -> str:
        """The document as indented JSON with a final line end; no NaN or infinity."""
        return "".join(self.json_pieces(limit=limit))

    def json_pieces(self, *, limit: int | None = None) -> Iterator[str]:
        """The text of `to_json` piece by piece, for tables that are large."""
        from tracelens.reporting import json_text

        return json_text.pieces(self.limited(0), lambda name: rows_of(self.analysis, name, limit))

    def to_text(
        self, *, width: int = 80, color: bool = False, unicode: bool = True, limit: int | None = SHOWN_ROWS
    ) -> str:
        """Text for a terminal of `width` columns (at least 40), plain unless `color`."""
        from tracelens.reporting import text

        return text.render(self.limited(limit), width=width, color=color, unicode=unicode, whole=limit is None)

    def to_markdown(self, *, limit: int | None = SHOWN_ROWS) -> str:
        """Markdown for a pull request, with the details folded."""
        from tracelens.reporting import markdown

        return markdown.render(self.limited(limit))

    def to_csv(self, table: str = "kernels", *, limit: int | None = None) -> str:
        """One table as CSV: "kernels", "operators", "gaps", "syncs" or "launches"; KeyError for another name."""
        from tracelens.reporting import csv_table

        return csv_table.render(self.limited(limit), table)

    @property
    def exit_code(self) -> ExitCode:
        """OK, or NOTHING_TO_JUDGE when the window holds no device work and no measurement gives a verdict."""
        idle = not len(self.analysis.tables["kernels"]) and not self.analysis.attribution.share("kernel")
        idle = idle and self.advice.recommendation.verdict == "abstain"
        return ExitCode.NOTHING_TO_JUDGE if idle else ExitCode.OK

    def limited(self, limit: int | None) -> Document:
        """The document with so many rows of each table, the costliest; None for all."""
        return self.document if limit is None else build(self.analysis, self.advice, self.run, limit=limit)
