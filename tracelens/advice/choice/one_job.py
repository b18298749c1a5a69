"""Whether traces are of ranks of one job, as far as they show it.

A trace may name its rank; ranks of a job communicate; and they run one program, so that their kernels have the same
names but for those that a library chooses by shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tracelens.advice.choice.doubts import UNRELATED
from tracelens.advice.choice.rank import Rank

ALIKE: Final = 0.3
"""Part of the kernels' names that two ranks have in common, of those that either has. [ranks of two jobs: 0.94 to 1;
different models, or one on devices of different makers: 0 to 0.2]"""


@dataclass(frozen=True, slots=True)
class Kinship:
    """What speaks against traces being of ranks of one job."""

    strangers: str = ""
    """Why they are none, or ""."""
    doubt: str = ""
    """Why they may be none, or ""."""

    @property
    def doubts(self) -> dict[str, float]:
        """What it leaves of the confidence in a joint verdict, by name."""
        return {"unrelated": UNRELATED} if self.doubt else {}


def kinship(ranks: Sequence[Rank]) -> Kinship:
    """Strangers are traces that run other kernels and do not all name a rank of a job; where they do, that is doubted,
    and so are traces that run like kernels and neither name a rank nor communicate."""
    other, alike = min(((rank, _alike(ranks[0], rank)) for rank in ranks[1:]), key=lambda found: found[1])
    pair = f"{ranks[0].title} and {other.title} have {round(100 * alike)} % of their kernels' names in common"
    named = all(rank.world for rank in ranks)
    if alike < ALIKE:
        return Kinship(doubt=f"hardly one program: {pair}") if named else Kinship(strangers=pair)
    if named or all(_communicates(rank) for rank in ranks):
        return Kinship()
    return Kinship(
        doubt="nothing shows that these are ranks of one job: not all traces name their rank, or hold a collective"
    )


def _alike(rank: Rank, other: Rank) -> float:
    """Part of the kernels' names that both have; 1 where one of them has no kernels to tell by, or another form, in
    which a program has other kernels."""
    if rank.analysis.form != other.analysis.form:
        return 1.0
    first, second = (set(one.analysis.tables["kernels"].plain("name")) for one in (rank, other))
    return len(first & second) / len(first | second) if first and second else 1.0


def _communicates(rank: Rank) -> bool:
    return rank.analysis.attribution.parts["kernel"]["communication"] > 0 or "communication" in set(
        rank.analysis.tables["kernels"].plain("kind")
    )
