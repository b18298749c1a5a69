"""Several processes of one job, as `torchrun` starts them: every rank records itself, all of them in step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rank:
    """One process of several."""

    number: int
    of: int

    @property
    def suffix(self) -> str:
        """What tells this rank's files from the others'."""
        return f".rank{self.number}"


def this_rank(environment: Mapping[str, str] = os.environ) -> Rank | None:
    """Return which rank this process is, None if it is the only one."""
    number, of = environment.get("RANK", ""), environment.get("WORLD_SIZE", "")
    return Rank(int(number), int(of)) if number.isdecimal() and of.isdecimal() and int(of) > 1 else None


def rendezvous(turn: int, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return where the ranks of that turn meet: the processes of each form are a group with a port of its own."""
    port = environment.get("MASTER_PORT", "")
    if this_rank(environment) is None or not port.isdecimal():
        return {}
    return {"MASTER_PORT": str(int(port) + turn), "TORCHELASTIC_USE_AGENT_STORE": "False"}
