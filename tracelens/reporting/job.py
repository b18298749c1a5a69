"""What is said of the ranks of one job: their verdict, why single ones differ, and a row for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracelens.advice.choice.job import Job, Rank
from tracelens.advice.forms.verdict import candidates
from tracelens.advice.results import Form
from tracelens.model import units
from tracelens.model.forms import FORMS
from tracelens.reporting.forms import span
from tracelens.reporting.grid import Column
from tracelens.reporting.ink import Ink
from tracelens.reporting.json_text import written
from tracelens.reporting.page import LEAST_WIDTH, Page


def to_text(ranks: Sequence[Rank], job: Job | None, *, width: int = 80, color: bool = False) -> str:
    """Lines of at most `width` columns."""
    page = Page(max(LEAST_WIDTH, width), Ink(color), True)
    lines = [*page.text(headline(ranks, job), "", None, "bold")]
    for reason in reasons(ranks, job):
        lines.extend(page.text(reason))
    columns = [
        *(Column("rank", ">"), Column("by itself"), Column("sure", ">")),
        *(Column(f"{name} ms", ">") for name in FORMS),
        Column("waits ms", ">"),
    ]
    lines.extend(
        [*page.heading("Each rank by itself, waits for the others included"), *page.table(columns, _rows(ranks))]
    )
    return "\n".join(lines) + "\n"


def to_json(ranks: Sequence[Rank], job: Job | None) -> str:
    """The same as JSON: the job (null where there is no verdict), and its ranks."""
    return written(
        {
            "job": None if job is None else _judged(job),
            "summary": " ".join([headline(ranks, job), *reasons(ranks, job)]),
            "ranks": [_entry(rank) for rank in ranks],
        }
    )


def headline(ranks: Sequence[Rank], job: Job | None) -> str:
    """The verdict for all ranks: "Both, on all 8 ranks: 8.80 -> 4.61 ms (predicted 3.10-9.80)."."""
    every = _every(ranks)
    on = f"on {every}"
    if job is None:
        return f"No verdict for {every}: {_why_none(ranks)}"
    now, then = job.forms[job.now], job.forms[job.chosen]
    if not job.decided:
        known = sorted(candidates(job.forms, job.now), key=lambda name: job.forms[name].step_ms or 0.0)
        times = (
            f"{name} {units.milliseconds(job.forms[name].step_ms or 0)} ({_span(job.forms[name])})" for name in known
        )
        return f"Cannot tell which form is fastest {on}, in ms: {', '.join(times)}."
    if job.verdict == "neither":
        return f"Neither, {on}: the step stays at {_step(now)} ms ({now.source} {_span(now)})."
    return f"{job.verdict.capitalize()}, {on}: {_step(now)} -> {_step(then)} ms ({then.source} {_span(then)})."


def reasons(ranks: Sequence[Rank], job: Job | None) -> Iterator[str]:
    """Why it is one verdict, how single ranks differ from it, and which is late."""
    said = {rank.advice.recommendation.verdict for rank in ranks}
    if job is None:
        return
    if len(said) > 1:
        groups = (f"{verdict} for {_names(ranks, verdict)}" for verdict in sorted(said))
        yield f"By themselves ranks differ: {'; '.join(groups)}."
    yield from _late(ranks, job)
    yield (
        "All ranks run one program and take as long as the longest of them without what it waits for the others; the "
        f"confidence is {units.percent(job.confidence)}."
    )


def _every(ranks: Sequence[Rank]) -> str:
    """What ranks there are: "all 8 ranks", or "2 of its 8 ranks" where not all are given."""
    world = max((rank.world or 0 for rank in ranks), default=0)
    return f"{len(ranks)} of the job's {world} ranks" if world > len(ranks) else f"all {len(ranks)} ranks"


def _late(ranks: Sequence[Rank], job: Job) -> Iterator[str]:
    """Which rank the others wait for; another one than those given where all of them wait."""
    if not job.waits:
        return
    most = max(ranks, key=lambda rank: rank.waits_ms)
    longest = f"rank {most.name} for {units.milliseconds(most.waits_ms)} ms a step, which no form of theirs shortens."
    if job.latest is None:
        yield f"All of them wait in collectives, {longest} The rank that is late is not among them."
    else:
        yield f"Rank {job.latest} is late: the others wait for it in collectives, {longest}"


def _why_none(ranks: Sequence[Rank]) -> str:
    silent = next((rank for rank in ranks if rank.advice.recommendation.verdict == "abstain"), None)
    if silent is not None:
        return f"rank {silent.name}: {silent.advice.recommendation.summary.removeprefix('No verdict.').strip()}"
    return f"they run in different forms: {', '.join(f'rank {rank.name} {rank.now}' for rank in ranks)}."


def _names(ranks: Sequence[Rank], verdict: str) -> str:
    return ", ".join(rank.name for rank in ranks if rank.advice.recommendation.verdict == verdict)


def _rows(ranks: Sequence[Rank]) -> list[list[str]]:
    return [
        [
            rank.name,
            rank.advice.recommendation.verdict + ("" if rank.advice.recommendation.decided else "?"),
            units.percent(rank.advice.recommendation.confidence),
            *(_step(rank.advice.forms[name]) for name in FORMS),
            units.milliseconds(rank.waits_ms),
        ]
        for rank in ranks
    ]


def _step(form: Form) -> str:
    return "-" if form.step_ms is None else units.milliseconds(form.step_ms)


def _span(form: Form) -> str:
    return span(form.low, form.high) or "no range"


def _times(form: Form) -> dict[str, Any]:
    return {"step_ms": form.step_ms, "low": form.low, "high": form.high, "source": form.source}


def _judged(job: Job) -> dict[str, Any]:
    return {
        "verdict": job.verdict,
        "decided": job.decided,
        "confidence": job.confidence,
        "latest": job.latest,
        "forms": {name: _times(job.forms[name]) for name in FORMS},
    }


def _entry(rank: Rank) -> dict[str, Any]:
    advised = rank.advice.recommendation
    return {
        "rank": rank.name,
        "path": rank.analysis.trace.source.path,
        "verdict": advised.verdict,
        "decided": advised.decided,
        "confidence": advised.confidence,
        "waits_ms": rank.waits_ms,
        "forms": {name: _times(rank.advice.forms[name]) for name in FORMS},
    }
