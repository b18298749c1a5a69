"""What is said of the ranks of one job: their verdict as a report has it, why single ones differ, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from tracelens.advice.choice.job import Job
from tracelens.advice.choice.one_job import Kinship
from tracelens.advice.choice.rank import Rank
from tracelens.advice.results import Advice, Form
from tracelens.model import units
from tracelens.model.forms import FORMS
from tracelens.reporting import lateness, phrases, runs
from tracelens.reporting.document import build
from tracelens.reporting.forms import short
from tracelens.reporting.grid import Column
from tracelens.reporting.json_text import written
from tracelens.reporting.printable import short_place
from tracelens.reporting.schema import AttributionEntry, ClassEntry, Document

SHOWN_NAMES: Final = 8
"""Ranks that are named of those that are alike; the table has them all."""
SHOWN_HANDLES: Final = 3
"""Handles that a sentence names."""
GUESSED: Final = "by itself"
"""The column of what may be a guess."""
COLUMNS: Final = (
    Column("rank", ">", least=6),
    Column(GUESSED, spare=1),
    Column("sure", ">", spare=3),
    *(Column(name, ">") for name in FORMS),
    Column("waits", ">", spare=2),
    Column("repaired", ">", spare=4),
)
"""Of the table of ranks."""
LEGEND: Final = {
    "?": "a guess, which decides nothing",
    "-": "cannot run, or nothing tells of it",
    "waits": "ms in collectives for ranks that are later",
    "repaired": "{form} once the repairs are made",
}
"""What marks and columns mean."""


@dataclass(frozen=True, eq=False)
class JobReport:
    """The ranks, what is advised for all of them (None where there is no verdict), and whether they are of one job."""

    ranks: tuple[Rank, ...]
    job: Job | None
    kinship: Kinship = field(default_factory=Kinship)

    @cached_property
    def document(self) -> Document | None:
        """The report document of the job: that of its longest rank with the forms, the recommendation and the findings
        of all, and with the account as without what it waits for the others. None without a verdict."""
        job = self.job
        if job is None:
            return None
        findings = tuple(replace(found, title=f"{rank.begun}: {found.title}") for found, rank in job.findings)
        advice = Advice(dict(job.forms), job.advised, findings)
        document = build(job.longest.analysis, advice, limit=0)
        steps = document["window"]["steps"] or 1
        waits_ns = round(job.longest.waits_ms * steps * units.NS_PER_MS)
        return {**document, "attribution": _without(document["attribution"], waits_ns)}

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Those of the single ranks, without tables."""
        return tuple(build(rank.analysis, rank.advice, rank.run, limit=0) for rank in self.ranks)

    def to_json(self) -> str:
        """The job (null where there is no verdict), and its ranks."""
        repaired = _repaired_form(self)
        return written(
            {
                "job": None if self.job is None or self.document is None else _judged(self.job, self.document),
                "doubt": self.kinship.doubt or None,
                "summary": " ".join([headline(self), *reasons(self)]),
                "ranks": [
                    _entry(rank, document, repaired) for rank, document in zip(self.ranks, self.documents, strict=True)
                ],
            }
        )


def headline(report: JobReport) -> str:
    """The verdict for all ranks: "All 8 ranks. Both: 8.80 -> 4.61 ms (predicted 3.10-9.80)."."""
    every = _every(report.ranks)
    if report.document is None:
        return f"{every}. No verdict. {_why_none(report.ranks)}"
    return f"{every}. {phrases.headline(report.document)}"


def distrust(report: JobReport) -> Iterator[str]:
    """What speaks against one verdict: that these may be no ranks of one job, what runs lack, and trust checks that
    failed."""
    if report.kinship.doubt:
        yield phrases.sentence(report.kinship.doubt[0].upper() + report.kinship.doubt[1:])
    yield from _told_of("Run", report, runs.warnings)
    yield from _told_of("Trust", report, phrases.failed_checks)


def _told_of(what: str, report: JobReport, messages: Callable[[Document], Iterable[str]]) -> Iterator[str]:
    """Messages on single ranks, each once with the ranks that it is of: "Trust of ranks 0, 1: ..."."""
    found = dict[str, list[str]]()
    for rank, document in zip(report.ranks, report.documents, strict=True):
        for message in messages(document):
            found.setdefault(message, []).append(rank.name)
    yield from (f"{what} of {_named(names)}: {phrases.sentence(message)}" for message, names in found.items())


def reasons(report: JobReport) -> Iterator[str]:
    """The other forms, how sure it is, how single ranks differ from it, which is late, and what the times are."""
    job, document = report.job, report.document
    if job is None or document is None:
        return
    yield from filter(None, (phrases.alternatives(document), phrases.confidence(document)))
    yield from _repairs(report.ranks, job)
    yield from _differ(report.ranks)
    yield from lateness.reasons(report.ranks, job)
    yield (
        "All ranks run one program: each form takes as long as the rank that is the longest in it, without what that "
        f"waits for the others; as they run now that is {job.longest.title}."
    )


def savings(report: JobReport) -> str:
    """What the findings' savings, counts and handles are of; "" without findings."""
    if report.job is None or not report.job.findings:
        return ""
    return "savings of the job's step without the profiler; counts and handles of the rank that is named"


def steps(report: JobReport) -> list[tuple[str, str]]:
    """What to do, each with its place in the code: what a report says, and to look at the rank that is late."""
    if report.job is None or report.document is None:
        return []
    told, late = phrases.placed_steps(report.document), lateness.step(report.ranks, report.job)
    more = [(late, "")] if late else []
    return more + told if lateness.comes_first(report.ranks, report.job) else told + more


def rows(report: JobReport) -> list[list[str]]:
    """A row for each rank, with the times that the job's are the longest of."""
    repaired = _repaired_form(report)
    return [_row(rank, repaired) for rank in report.ranks]


def legend(report: JobReport, titles: str | None = None) -> str:
    """What the marks and columns of the rows mean, as far as they are there, and where only some columns are shown
    under `titles`, among those."""
    columns = {column.title: cells for column, cells in zip(COLUMNS, zip(*rows(report), strict=True), strict=True)}
    seen = {title: cells for title, cells in columns.items() if any(cells) and (titles is None or title in titles)}
    cells = {cell for shown in seen.values() for cell in shown}
    is_shown = {"?": any("?" in cell for cell in seen.get(GUESSED, ())), "-": "-" in cells}
    told = "; ".join(f"{mark}: {said}" for mark, said in LEGEND.items() if is_shown.get(mark, mark in seen))
    return f"{told.format(form=_repaired_form(report))}." if told else ""


def _repairs(ranks: tuple[Rank, ...], job: Job) -> Iterator[str]:
    """Which ranks have what is to be repaired first, where not all do."""
    for fix, having in zip(job.advised.fix_first, job.repairs, strict=True):
        names = list(having)
        if 0 < len(names) < len(ranks):
            handles = ", ".join(fix.evidence[:SHOWN_HANDLES]) if len(names) == 1 else ""
            where = "; ".join(filter(None, (short_place(fix.where), handles)))
            has, place = "has" if len(names) == 1 else "have", f" ({where})" if where else ""
            yield f"Only {_named(names)} {has} {short(fix.message)}{place}."


def _differ(ranks: tuple[Rank, ...]) -> Iterator[str]:
    """That the ranks are advised different forms by themselves, where they are; which of these are guesses."""
    verdicts = [rank.advice.recommendation.verdict for rank in ranks]
    if len(set(verdicts)) > 1:
        told = [_by_itself(rank, " at a guess") for rank in ranks]
        yield f"By themselves ranks differ: {_grouped(ranks, told)}."


def _by_itself(rank: Rank, guess: str) -> str:
    """The verdict of a rank's own report, with the mark of a guess."""
    advised = rank.advice.recommendation
    return advised.verdict if advised.verdict == "abstain" or advised.decided else f"{advised.verdict}{guess}"


def _grouped(ranks: tuple[Rank, ...], words: list[str]) -> str:
    """The ranks by a word of each: "both for ranks 1, 2; neither for rank 0"."""
    groups = dict[str, list[str]]()
    for rank, word in zip(ranks, words, strict=True):
        groups.setdefault(word, []).append(rank.name)
    return "; ".join(f"{word} for {_named(names)}" for word, names in sorted(groups.items()))


def _named(names: list[str]) -> str:
    """The ranks by name, the first of many: "ranks 0, 1 and 6 more"."""
    more = len(names) - SHOWN_NAMES
    told = ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"rank{'s' if len(names) > 1 else ''} {told}"


def _every(ranks: tuple[Rank, ...]) -> str:
    """What ranks there are: "All 8 ranks", "2 of the job's 8 ranks", or "2 ranks" where nothing tells of how many."""
    world, given = max((rank.world or 0 for rank in ranks), default=0), len(ranks)
    return f"{given} of the job's {world} ranks" if world > given else f"{'All ' if world else ''}{given} ranks"


def _why_none(ranks: tuple[Rank, ...]) -> str:
    silent = next((rank for rank in ranks if rank.advice.recommendation.verdict == "abstain"), None)
    if silent is not None:
        why = phrases.sentence(silent.advice.recommendation.summary.removeprefix("No verdict.").strip())
        return f"{silent.begun}: {why}"
    return f"They run in different forms: {_grouped(ranks, [rank.now for rank in ranks])}."


def _row(rank: Rank, repaired: str) -> list[str]:
    advised, forms = rank.advice.recommendation, rank.alone(rank.advice.forms)
    silent = advised.verdict == "abstain"
    return [
        rank.name,
        "none" if silent else _by_itself(rank, "?"),
        "-" if silent else units.percent(advised.confidence),
        *(_step(forms[name]) for name in FORMS),
        units.milliseconds(rank.waits_ms) if rank.waits_ms else "",
        _step(form) if (form := _repaired(rank, repaired)) else "",
    ]


def _repaired_form(report: JobReport) -> str:
    """The form that the job is to run in once it is repaired; "" where nothing is to be repaired."""
    after = report.job.advised.after_fix if report.job else None
    if report.job is None or after is None:
        return ""
    return report.job.now if after.verdict == "neither" else after.verdict


def _repaired(rank: Rank, name: str) -> Form | None:
    """That form of a rank once it is repaired, without its waits; None where nothing is."""
    return rank.alone(rank.case.fixed)[name] if name and rank.case else None


def _step(form: Form) -> str:
    return "-" if form.step_ms is None else units.milliseconds(form.step_ms)


def _without(account: AttributionEntry, waits_ns: int) -> AttributionEntry:
    """The account without so many ns of communication."""
    kernel = account["classes"]["kernel"]
    waits_ns = min(waits_ns, kernel["parts"].get("communication", 0))
    parts = {**kernel["parts"], "communication": kernel["parts"].get("communication", 0) - waits_ns}
    less: ClassEntry = {"ns": kernel["ns"] - waits_ns, "parts": parts}
    return {"window_ns": account["window_ns"] - waits_ns, "classes": {**account["classes"], "kernel": less}}


def _times(form: Form) -> dict[str, Any]:
    return {"step_ms": form.step_ms, "low": form.low, "high": form.high, "source": form.source}


def _judged(job: Job, document: Document) -> dict[str, Any]:
    advised = document["recommendation"]
    return {
        **advised,
        "now": job.now,
        "longest": job.longest.name,
        "latest": job.latest,
        "forms": document["forms"],
        "fix_first": [
            {**fix, "ranks": list(names)} for fix, names in zip(advised["fix_first"], job.repairs, strict=True)
        ],
        "findings": [
            {**found, "rank": rank.name} for found, (_, rank) in zip(document["findings"], job.findings, strict=True)
        ],
    }


def _entry(rank: Rank, document: Document, name: str) -> dict[str, Any]:
    advised, alone, repaired = document["recommendation"], rank.alone(rank.advice.forms), _repaired(rank, name)
    return {
        "rank": rank.name,
        "path": document["trace"]["path"],
        "trust": document["trust"]["level"],
        "notes": list(runs.warnings(document)),
        **{key: advised[key] for key in ("verdict", "decided", "confidence", "fix_first", "after_fix")},
        "waits_ms": rank.waits_ms,
        "forms": {name: _times(rank.advice.forms[name]) for name in FORMS},
        "alone": {name: _times(alone[name]) for name in FORMS},
        "repaired": {"form": name, **_times(repaired)} if repaired else None,
    }
