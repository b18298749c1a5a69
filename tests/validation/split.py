"""Constants fitted on one half of the measured steps, judged on the other, beside those that saw them all."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Final

from tests.validation.measured import FOLDER, Measured, measured
from tests.validation.table import SETS
from tracelens.advice import constants
from tracelens.advice.blockers.blockers import Observation, find_blockers
from tracelens.advice.device.facts import Facts, find_facts
from tracelens.advice.forms.forms import predict_forms
from tracelens.advice.forms.verdict import choose, verdict_of
from tracelens.advice.results import Form
from tracelens.advice.step.region import find_region
from tracelens.analysis import analyze
from tracelens.loading import load_trace
from tracelens.model.forms import FORMS

PAGE: Final = FOLDER / "split.md"
HEAD: Final = """\
# Fitted on halves

The measured steps of [validation.md](validation.md), every second one judged with constants that were fitted anew on
the others. Errors are of step times. The rules around the constants were made with all of them in view.

`python -m tests.validation split` writes this page, in some minutes.

"""
FITTED: Final = (
    "INFERENCE_HOST", "TRAINING_HOST", "GUARDS", "GENERATED_LAUNCH", "LIBRARY_CALL", "LIBRARY_TRACED",
    "COMPILED_TRAINING", "COMPILED_PARAMETER", "TREE_FLOOR", "REGION_OVERHEAD", "NODE_SPACING", "MEMSET_SPACING",
    "GRAPH_LAUNCH", "HAND_OVER", "SHORTEST_POINTWISE", "SHORTEST_REDUCTION",
)  # fmt: skip
"""Constants that are fitted anew; the rules around them stay, and have seen every step."""
START: Final = 1.3
"""The fit starts with every constant this far off, in turn above and below."""
FACTORS: Final = (0.8, 0.92, 1.0, 1.09, 1.25)
ROUNDS: Final = 3
LARGEST_LOSS: Final = 0.5
"""An error counts no more than this, so that no single step decides."""


@dataclass(frozen=True)
class Known:
    """A measured step with all that its trace tells."""

    step: Measured
    facts: Facts
    observed: tuple[Observation, ...]

    def forms(self) -> dict[str, Form]:
        """Predicted with the constants as they are now."""
        return predict_forms(self.facts, self.observed)


def known(name: str) -> Iterator[Known]:
    """The steps of a set."""
    for step in measured(name):
        analysis = analyze(load_trace(step.trace))
        region = find_region(analysis)
        assert region is not None, step.name
        yield Known(step, find_facts(region), find_blockers(analysis, region))


@contextmanager
def replaced(values: Mapping[str, float]) -> Iterator[None]:
    """The prediction with other constants."""
    before = {name: getattr(constants, name) for name in values}
    try:
        for name, value in values.items():
            setattr(constants, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(constants, name, value)


def errors(forms: Mapping[str, Form], step: Measured) -> dict[str, float]:
    """ln(predicted / measured) of each form that has both."""
    pairs = {form: (forms[form].step_ms, step.step_ms.get(form)) for form in FORMS}
    return {form: log(predicted / true) for form, (predicted, true) in pairs.items() if predicted and true}


def loss(steps: Iterable[Known]) -> float:
    """Mean size of all errors of the steps."""
    found = [abs(error) for step in steps for error in errors(step.forms(), step.step).values()]
    return statistics.mean(min(error, LARGEST_LOSS) for error in found)


def fitted(steps: list[Known]) -> dict[str, float]:
    """Constants of least loss on the steps, one after the other, some rounds."""
    values = {name: getattr(constants, name) * START ** (-1) ** at for at, name in enumerate(FITTED)}
    for _ in range(ROUNDS):
        for name in FITTED:
            values[name] = min(
                (values[name] * factor for factor in FACTORS), key=lambda value: _try(steps, values, name, value)
            )
    return values


def _try(steps: list[Known], values: Mapping[str, float], name: str, value: float) -> float:
    with replaced({**values, name: value}):
        return loss(steps)


@dataclass(frozen=True)
class Outcome:
    """What was predicted of steps: errors of each form, and how many verdicts were right."""

    errors: dict[str, list[float]]
    right: int
    steps: int

    def row(self, label: str) -> str:
        """As a line of a table: verdicts, and per form the median error and its 90th percentile."""
        cells = [label, f"{self.right} of {self.steps}"]
        for form in FORMS:
            sizes = sorted(abs(exp(error) - 1) for error in self.errors[form])
            cells.append(f"{statistics.median(sizes):.1%} / {sizes[int(0.9 * (len(sizes) - 1))]:.1%}")
        return f"| {' | '.join(cells)} |"


def outcome(judged: Iterable[tuple[Known, Mapping[str, Form]]]) -> Outcome:
    """Of steps with their predicted forms."""
    pairs = list(judged)
    every = [errors(forms, step.step) for step, forms in pairs]
    right = sum(step.step.is_right(verdict_of(choose(forms))) for step, forms in pairs)
    return Outcome({form: [error[form] for error in every if form in error] for form in FORMS}, right, len(pairs))


def unseen(steps: list[Known]) -> Outcome:
    """Every step as predicted with constants that were fitted on the other half."""
    halves = steps[::2], steps[1::2]
    judged: list[tuple[Known, Mapping[str, Form]]] = []
    for own, other in (halves, halves[::-1]):
        with replaced(fitted(other)):
            judged += [(step, step.forms()) for step in own]
    return outcome(judged)


def write_split(path: Path = PAGE) -> None:
    """Write the page of the comparison."""
    steps = sorted((step for name in SETS for step in known(name)), key=lambda step: step.step.name)
    seen = outcome((step, step.forms()) for step in steps)
    head = ["constants", "verdicts right", *(f"{form}, median / p90" for form in FORMS)]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    rows = [*lines, seen.row("as they are"), unseen(steps).row("fitted on the other half")]
    path.write_text(HEAD + "\n".join(rows) + "\n")
