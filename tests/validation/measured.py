"""Steps whose every form was measured without a profiler, with the eager trace of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tracelens.advice.forms.verdict import COMPLEXITY

FOLDER = Path(__file__).parent.parent / "data"
STEP_MS = "step_ms.json"
RIGHT, NEEDLESS = 0.05, 0.03
"""A form this close to the fastest is right; a simpler one this close makes it needless."""


@dataclass(frozen=True)
class Measured:
    """A step and the median time in ms of each of its forms that could run."""

    name: str
    trace: Path
    step_ms: dict[str, float]

    def fastest(self) -> str:
        """The form of the least time."""
        return min(self.step_ms, key=lambda form: self.step_ms[form])

    def best(self) -> str:
        """The verdict that the times ask for: the simplest form close to the fastest."""
        bound = (1 + NEEDLESS) * min(self.step_ms.values())
        enough = [form for form, time in self.step_ms.items() if time <= bound]
        form = min(enough, key=lambda form: (COMPLEXITY[form], self.step_ms[form]))
        return "neither" if form == "eager" else form

    def is_right(self, verdict: str) -> bool:
        """Whether the verdict's form is close to the fastest, and no simpler one is."""
        chosen, least = "eager" if verdict == "neither" else verdict, min(self.step_ms.values())
        simpler = [time for form, time in self.step_ms.items() if COMPLEXITY[form] < COMPLEXITY.get(chosen, 0)]
        near = self.step_ms.get(chosen, float("inf")) <= (1 + RIGHT) * least
        return near and min(simpler, default=float("inf")) > (1 + NEEDLESS) * least


def measured(name: str) -> list[Measured]:
    """The measured steps of a folder under tests/data."""
    folder = FOLDER / name
    times: dict[str, dict[str, float]] = json.loads((folder / STEP_MS).read_text())
    return [Measured(step, folder / f"{step}.eager.json.gz", best_variants(of)) for step, of in times.items()]


def best_variants(times: dict[str, float]) -> dict[str, float]:
    """Times by form, with the better of the two ways to compile and replay."""
    both = [time for form, time in times.items() if form.startswith("both")]
    rest = {form: time for form, time in times.items() if not form.startswith("both")}
    return rest | ({"both": min(both)} if both else {})
