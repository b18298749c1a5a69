"""What is said of the rank that the others of its job wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.advice.choice.job import Job
from tracelens.advice.choice.rank import Rank
from tracelens.model import units

LONGER: Final = 1.2
"""A waiting rank's traced step over that of the late one from which what is late lies before it. [judgement]"""


def reasons(ranks: tuple[Rank, ...], job: Job) -> Iterator[str]:
    """Which rank the others wait for, and where that is not seen; another one than those given where all of them
    wait."""
    if not job.waits:
        return
    most, late = _waiting(ranks), _late(ranks, job)
    longest = f"{most.title} for {units.milliseconds(most.waits_ms)} ms a step, which no form of theirs shortens."
    if late is None:
        which = "Now one is late, now another." if _is_whole(ranks) else "The rank that is late is not among them."
        yield f"All of them wait in collectives, {longest} {which}"
        return
    yield f"{late.begun} is late: the others wait for it in collectives, {longest}"
    own, other = _traced_ms(late), _traced_ms(most)
    if other > LONGER * own:
        yield (
            f"As traced, the step of {most.title} takes {units.milliseconds(other)} ms with its wait, that of "
            f"{late.title} {units.milliseconds(own)} ms: what makes it late lies before its counted steps, and in no "
            "time of the job."
        )


def step(ranks: tuple[Rank, ...], job: Job) -> str:
    """What to do about it; "" where no rank waits for long."""
    if not job.waits:
        return ""
    most, late = _waiting(ranks), _late(ranks, job)
    waits = f"{most.title} waits {units.milliseconds(most.waits_ms)} ms a step"
    if late is not None:
        return f"Look at {late.title}: its host, its data or its pauses hold up the others; {waits} for it."
    if _is_whole(ranks):
        return f"Look at the steps in which a rank is late: its host, its data or its pauses; {waits}."
    return f"Give the traces of the other ranks as well, and look at the one that is late; {waits} for it."


def comes_first(ranks: tuple[Rank, ...], job: Job) -> bool:
    """Whether the ranks wait for longer than what is advised, or allowed once it is repaired, saves."""
    after, now, forms = job.advised.after_fix, job.forms[job.now].step_ms or 0.0, job.forms
    form = forms[job.now if job.advised.verdict == "neither" else job.advised.verdict]
    then = min(form.step_ms or now, after.step_ms if after else now)
    return _waiting(ranks).waits_ms >= now - then


def _waiting(ranks: tuple[Rank, ...]) -> Rank:
    return max(ranks, key=lambda rank: rank.waits_ms)


def _late(ranks: tuple[Rank, ...], job: Job) -> Rank | None:
    return next((rank for rank in ranks if rank.name == job.latest), None)


def _is_whole(ranks: tuple[Rank, ...]) -> bool:
    """Whether all ranks of the job are given, as far as the traces say how many there are."""
    return 0 < max(rank.world or 0 for rank in ranks) <= len(ranks)


def _traced_ms(rank: Rank) -> float:
    """Ms of a counted step under the profiler."""
    return units.to_ms(rank.analysis.attribution.window_ns) / max(len(rank.analysis.window.tiles), 1)
