"""The ranks that are given to be judged together: which files they are in, and that each is there once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracelens.cli.formats import expect_apart
from tracelens.cli.progress import Progress
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.advice.choice.rank import Rank


def ranks_of(paths: list[Path], written: Path | None) -> list[Rank]:
    """Each trace with the advice on it; UsageError for what is given twice, forms of one run, jobs of different sizes,
    and a trace that what is written would replace."""
    from tracelens import api
    from tracelens.advice.choice.rank import Rank
    from tracelens.reporting.document import rank_of

    names, ranks, unnumbered = _names(_each_once(list(_files(paths)))), list[Rank](), list[Rank]()
    if written is not None:
        for path in names:
            expect_apart(written, str(path))
    for path in names:
        with Progress() as progress:
            report = api.report(path, progress=progress)
        number, world = rank_of(report.analysis.trace, report.run)
        name = names[path] if number is None else str(number)
        ranks.append(Rank(name, report.analysis, report.advice, world, report.run))
        unnumbered += ranks[-1:] if number is None else []
    _expect_others(ranks, unnumbered)
    return ranks


def _expect_others(ranks: Sequence[Rank], unnumbered: Sequence[Rank]) -> None:
    """UsageError unless each may be another rank of one job."""
    twice = [name for name, count in Counter(rank.name for rank in ranks).items() if count > 1]
    if twice:
        raise UsageError(f"several of the traces are of rank {twice[0]}; give one of each rank")
    for at, rank in enumerate(unnumbered):
        for other in unnumbered[:at]:
            _expect_another(other, rank)
    sizes = {rank.world for rank in ranks if rank.world}
    if len(sizes) > 1:
        raise UsageError(
            f"the traces are of jobs of {' and '.join(map(str, sorted(sizes)))} ranks; give those of one job"
        )


def _expect_another(rank: Rank, other: Rank) -> None:
    """UsageError for two that are of one process: each rank leaves a run of its own, and no two run at the same ns."""
    if _run_id(rank) is not None and _run_id(rank) == _run_id(other):
        raise UsageError(
            f"{rank.name} and {other.name} are of one run, whose forms are no ranks: give one trace of each rank, or "
            "the run to tracelens report"
        )
    if _is_copy(rank, other):
        raise UsageError(f"{rank.name} and {other.name} are one recording; give one trace of each rank")


def _run_id(rank: Rank) -> str | None:
    """The id of the run that a trace was recorded in."""
    nothing: Mapping[str, Any] = {}
    stamp, manifest = rank.analysis.trace.stamp or nothing, rank.run.manifest if rank.run else nothing
    found: object = stamp.get("run") or manifest.get("run")
    return found if isinstance(found, str) else None


def _is_copy(rank: Rank, other: Rank) -> bool:
    """Whether two traces have the same events at the same times, to the ns."""
    first, second = rank.analysis.trace, other.analysis.trace
    if first.base_ns != second.base_ns or len(first.events) != len(second.events) or not len(first.events):
        return False
    pairs = ((first.events.start, second.events.start), (first.events.duration, second.events.duration))
    return all(bool((one == two).all()) for one, two in pairs)


def _each_once(paths: list[Path]) -> list[Path]:
    """The files; UsageError for one that is given twice."""
    twice = [path for path, count in Counter(path.resolve() for path in paths).items() if count > 1]
    if twice:
        name = next(path for path in paths if path.resolve() == twice[0])
        raise UsageError(f"{name} is given twice; give one trace of each rank")
    return paths


def _names(paths: list[Path]) -> dict[Path, str]:
    """What traces are called that give no rank: by the file without the ending that all share, and its folder where
    several files have that name; a run by its folder."""
    from tracelens.loading.runs import RUN  # the command's help needs no arrays

    called = {path: path.resolve().parent.name if path.name == RUN else path.name for path in paths}
    often, shared = Counter(called.values()), _shared_ending(list(called.values()))
    short = {path: name.removesuffix(shared) for path, name in called.items()}
    return {path: name if often[called[path]] == 1 else f"{path.parent.name}/{name}" for path, name in short.items()}


def _shared_ending(names: list[str]) -> str:
    """The longest ending from a point on that all names have (".eager.json.gz"), and that leaves something of each."""
    endings = (names[0][at:] for at, letter in enumerate(names[0]) if letter == "." and at) if names else ()
    return next((ending for ending in endings if all(n.endswith(ending) and n != ending for n in names)), "")


def _files(paths: list[Path]) -> Iterator[Path]:
    """The traces themselves, those of a directory in its place, of a run its manifests."""
    from tracelens.loading.choose import ranks_in

    for path in paths:
        yield from ranks_in(path) if path.is_dir() else [path]
