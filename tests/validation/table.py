"""The table of what was predicted from eager traces alone beside what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.validation.measured import FOLDER, Measured, measured
from tests.workloads import WORKLOADS
from tracelens.advice import advise
from tracelens.advice.results import Advice, Form
from tracelens.analysis import analyze
from tracelens.loading import load_trace
from tracelens.model.forms import FORMS

TABLE = FOLDER / "validation.md"
PUT_AWAY = "Put away unseen for [the {0} run]({0}_run.md); constants have seen these measurements since."
RUNS = (
    "twenty_first",
    "twentieth",
    "nineteenth",
    "eighteenth",
    "seventeenth",
    "sixteenth",
    "fifteenth",
    "fourteenth",
    "thirteenth",
    "twelfth",
    "eleventh",
    "tenth",
    "ninth",
    "eighth",
    "seventh",
    "sixth",
    "fifth",
    "fourth",
    "third",
)
SETS = {
    **{name: PUT_AWAY.format(name) for name in RUNS},
    "unseen": PUT_AWAY.format("second"),
    "validation": PUT_AWAY.format("first"),
    "calibration": "Constants were fitted with these measurements in view.",
    "measured": "Constants were fitted with these measurements in view; the programs were not kept.",
}
HEAD = """\
# Predicted and measured

From the eager trace alone, against step times measured without a profiler on an NVIDIA H200, torch 2.11, one run each.
A verdict is right when its form is within 5 % of the fastest and no simpler one is within 3 %, and wrong in bold. Times
are in ms, predicted / measured; `-` could not run; `*` is a measured time outside the predicted range. `both` is the
faster of its variants. Host-bound times vary by 17 % (rms) between runs of one step.

[split.md](split.md) judges each half with constants fitted on the other. `python -m tests.validation table` writes this
page."""


@dataclass(frozen=True)
class Judged:
    """A measured step and what is advised from its trace."""

    step: Measured
    advice: Advice

    @property
    def verdict(self) -> str:
        return self.advice.recommendation.verdict

    @property
    def right(self) -> bool:
        return self.step.is_right(self.verdict)

    def pairs(self, form: str) -> Iterable[tuple[Form, float]]:
        """The predicted form with its measured time, where there are both."""
        predicted, true = self.advice.forms[form], self.step.step_ms.get(form)
        if predicted.step_ms is not None and true is not None:
            yield predicted, true


def judged(name: str) -> list[Judged]:
    """Every step of a set with the advice on it."""
    return [Judged(step, advise(analyze(load_trace(step.trace)))) for step in measured(name)]


def write_table(path: Path = TABLE) -> None:
    """Write the page of all sets."""
    sections = [section(name, about, judged(name)) for name, about in SETS.items()]
    path.write_text("\n\n".join([HEAD, *sections]) + "\n")


def section(name: str, about: str, steps: list[Judged]) -> str:
    """One set: its summary and a row per step."""
    columns = ["step", "kind", "advised", "best", *FORMS]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *map(row, steps)]
    return f"## {name}\n\n{about}\n\n{summary(steps)}\n\n" + "\n".join(lines)


def row(step: Judged) -> str:
    """One step as a line of the table."""
    advised = step.verdict if step.right else f"**{step.verdict}**"
    cells = [step.step.name, kind(step.step.name), advised, step.step.best()]
    return f"| {' | '.join([*cells, *(cell(step, form) for form in FORMS)])} |"


def kind(name: str) -> str:
    """What a workload is besides a step: training, of several streams, blocked."""
    return ", ".join(sorted(WORKLOADS[name].traits)) if name in WORKLOADS else ""


def cell(step: Judged, form: str) -> str:
    """Predicted and measured time of one form."""
    predicted, true = step.advice.forms[form], step.step.step_ms.get(form)
    both = [format(time, ".3g") if time is not None else "-" for time in (predicted.step_ms, true)]
    return " / ".join(both) + ("" if all(holds(*pair) for pair in step.pairs(form)) else " *")


def holds(form: Form, true: float) -> bool:
    """Whether the predicted range holds a time."""
    return form.low is not None and form.high is not None and form.low <= true <= form.high


def summary(steps: list[Judged]) -> str:
    """How many verdicts are right, and per form the errors, the range's cover and its width."""
    lines = [f"Verdicts right: {sum(step.right for step in steps)} of {len(steps)}.", ""]
    lines += [
        "| form | steps | error, median | error, 90th percentile | inside the range | width, median |",
        "|---" * 6 + "|",
    ]
    return "\n".join(lines + [form_summary(form, steps) for form in FORMS])


def form_summary(form: str, steps: list[Judged]) -> str:
    pairs = [pair for step in steps for pair in step.pairs(form)]
    errors = sorted(abs(predicted.step_ms / true - 1) for predicted, true in pairs if predicted.step_ms)
    widths = [(predicted.high - predicted.low) / predicted.step_ms for predicted, _ in pairs if predicted.high]  # type: ignore[operator]
    held = sum(holds(*pair) for pair in pairs)
    shown = [statistics.median(errors), errors[int(0.9 * (len(errors) - 1))]]
    cells = [form, str(len(pairs)), *(f"{value:.1%}" for value in shown), f"{held} of {len(pairs)}"]
    return f"| {' | '.join([*cells, f'{statistics.median(widths):.0%}'])} |"
