"""The report on the ranks of a job as text for a terminal and as Markdown, from the parts of a single trace's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.reporting import job, markdown, text
from tracelens.reporting.ink import Ink
from tracelens.reporting.job import JobReport
from tracelens.reporting.page import LEAST_WIDTH, Page

TITLE: Final = "Each rank without its waits"


def to_text(report: JobReport, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """Lines of at most `width` columns (40 or more)."""
    page, document = Page(max(LEAST_WIDTH, width), Ink(color), unicode), report.document
    lines = [*_distrust(report, page), *page.text(job.headline(report), "", None, "bold")]
    lines += [line for reason in job.reasons(report) for line in page.text(reason)]
    if document is not None:
        lines += text.forms(document, page)
        lines += text.why(document, page, job.savings(report), shown=None)
        lines += text.what_next(document, page, job.steps(report))
    return "\n".join([*lines, *_ranks(report, page)]) + "\n"


def to_markdown(report: JobReport) -> str:
    """GitHub-flavoured Markdown for a pull request."""
    document, said = report.document, [markdown.escaped(reason) for reason in job.reasons(report)]
    blocks = ["\n".join(f"> **{markdown.escaped(reason)}**" for reason in job.distrust(report))]
    blocks += ["### " + markdown.escaped(job.headline(report)).replace("->", "→"), "\n\n".join(said)]
    if document is not None:
        blocks += [
            *markdown.forms(document),
            *markdown.what_next(document, job.steps(report)),
            *markdown.why(document, job.savings(report)),
        ]
    cells = [[markdown.escaped(cell) for cell in row] for row in job.rows(report)]
    blocks += [f"{TITLE}, ms a step:", markdown.table(job.COLUMNS, cells), markdown.escaped(job.legend(report))]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _distrust(report: JobReport, page: Page) -> Iterator[str]:
    found = list(job.distrust(report))
    for reason in found:
        yield from page.text(reason, "  ", "! ", "yellow", "bold")
    if found:
        yield ""


def _ranks(report: JobReport, page: Page) -> Iterator[str]:
    """The table of ranks and what its marks mean."""
    rows, columns = job.rows(report), list(job.COLUMNS)
    yield from page.heading(TITLE, "ms a step")
    titles, *lines = page.table(columns, rows)
    yield from (titles, *lines)
    yield from text.hidden(columns, rows, titles, page)
    yield from page.text(job.legend(report, titles), "  ", None, "dim")
