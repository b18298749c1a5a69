"""One form's orders, as the launcher hands them to the process that runs it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

LEAST_STEPS = 5
"""Two steps to warm up, one each to measure, to warm the profiler up and to trace."""


@dataclass(frozen=True)
class Plan:
    """How many steps each phase takes."""

    warmup: int = 10
    measure: int = 70
    active: int = 4
    profiler_warmup: int = 2
    longer: bool = True
    """Whether short steps are measured more often than that, until their time is long enough to be honest."""
    in_step: bool = False
    """Whether other processes wait for this one's steps: then no phase may last by the clock."""
    available: int | None = None
    """Whole steps that the script is known to make; None before one run has ended by itself."""

    @property
    def steps(self) -> int:
        """All steps that a form needs."""
        return self.warmup + self.measure + self.profiler_warmup + self.active

    def fitted(self, steps: int) -> Plan:
        """Return the plan for a script of that many whole steps (at least LEAST_STEPS): its own phases, or smaller."""
        if steps >= self.steps:
            return replace(self, available=steps)
        active = max(1, min(self.active, steps // 5))
        rest = steps - active - 1
        warmup = max(2, min(self.warmup, max(rest // 3, min(5, rest - 3))))
        measure = min(self.measure, rest - warmup)
        return replace(self, warmup=warmup, measure=measure, active=active, profiler_warmup=1, available=steps)


@dataclass(frozen=True)
class Target:
    """What is repeated: named, or found; `ordinal` counts outermost modules in order of their first call."""

    function: str | None = None
    file: str | None = None
    """The file of the script's that has the function, None if it is the script itself."""
    module: str | None = None
    ordinal: int | None = None
    training: bool | None = None


@dataclass(frozen=True)
class Job:
    """Everything one process needs to run the script as one form."""

    form: str
    variant: str | None
    script: str
    is_module: bool
    arguments: tuple[str, ...]
    work: Path
    """Folder of this form's progress board, result, raw trace and outputs."""
    eager_outputs: Path
    """File of eager's outputs: eager writes it, the other forms compare with it."""
    run: str
    plan: Plan = field(default_factory=Plan)
    target: Target = field(default_factory=Target)
    seed: int = 0
    compile_mode: str | None = None
    dynamic: bool | None = None
    max_graphs: int = 8
    stack: bool = False
    memory: bool = False
    to_end: bool = False
    fallback_random: bool = False
    perturbed: bool = False
    """Start from parameters changed as little as rounding does, to see how far that carries."""
    check_only: bool = False
    """Run only as far as the outputs are compared."""
    turn: int = 0
    """Which of the run's processes this is, counted from 1."""
    need_cuda: tuple[str, ...] = ()
    """Forms of the run that need a CUDA device."""

    @property
    def name(self) -> str:
        """The form, with its variant where it has several."""
        return f"{self.form}.{self.variant}" if self.variant else self.form

    @property
    def board(self) -> Path:
        """The shared progress board."""
        return self.work / "board"

    @property
    def result(self) -> Path:
        """The result so far, rewritten after every phase."""
        return self.work / "result.json"

    @property
    def raw_trace(self) -> Path:
        """The trace as the profiler writes it."""
        return self.work / "trace.json"

    def with_(self, **changes: object) -> Job:
        """Return a copy with other values."""
        return replace(self, **changes)  # pyright: ignore[reportArgumentType]

    def save(self, path: Path) -> None:
        """Write the orders as JSON."""
        path.write_text(json.dumps(asdict(self), default=str))

    @classmethod
    def load(cls, path: Path) -> Job:
        """Read what `save` wrote."""
        row = json.loads(path.read_text())
        row["plan"], row["target"] = Plan(**row["plan"]), Target(**row["target"])
        row["work"], row["eager_outputs"] = Path(row["work"]), Path(row["eager_outputs"])
        row |= {key: tuple(row[key]) for key in ("arguments", "need_cuda")}
        return cls(**row)
