"""What text and Markdown say of a run directory, read from the report document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracelens.advice.forms.verdict import HOST_BOUND, LAUNCHED, PROCESS_SIGMA
from tracelens.model import units
from tracelens.model.forms import FORMS
from tracelens.reporting.printable import short_place
from tracelens.reporting.schema import Document, FormEntry, RunEntry

UNSTEADY: Final = 2.0
"""Longest over shortest batch of a form's measured steps from which its time is hardly known. [judgement; 1.33 at most
in runs on idle machines]"""


def beside(form: FormEntry) -> str:
    """The prediction beside a measurement with its error: "0.24 (-3 %)"; "" where there is none."""
    predicted = form["predicted"]
    if predicted is None:
        return ""
    told = units.milliseconds(predicted["step_ms"])
    off = round(100 * (predicted["step_ms"] / form["step_ms"] - 1)) if form["step_ms"] else None
    return told if off is None else f"{told} ({off:+d} %)" if off else f"{told} (0 %)"


def pays_after(form: FormEntry) -> str:
    """After how many steps a measured set-up has paid: "1,080 steps"; "" where it never does or is not known, or
    where the form must not be used."""
    steps = form["break_even_steps"]
    if form["source"] != "measured" or steps is None or form["outputs"] == "differ":
        return ""
    return units.counted(max(1, round(steps)), "step")


def set_up(document: Document) -> str:
    """The steps after which measured forms have paid, and by how much their set-up is longer than eager's, in a
    sentence; or ""."""
    eager = document["forms"].get("eager")
    own = (eager["setup_s"] or 0.0) if eager is not None else 0.0
    told = [
        f"{name} {pays_after(form)} ({units.significant(max((form['setup_s'] or 0.0) - own, 0.0))} s)"
        for name in FORMS
        if (form := document["forms"].get(name)) is not None and pays_after(form)
    ]
    return f"The set-up beyond eager's has paid after: {', '.join(told)}.{_warm(document)}" if told else ""


def _warm(document: Document) -> str:
    """That both, recorded after compile, spared what the compiler had cached by then; or ""."""
    compiled, both = (document["forms"].get(name) for name in ("compile", "both"))
    if compiled is None or both is None or not compiled["setup_s"] or not both["setup_s"] or not pays_after(both):
        return ""
    spared = compiled["source"] == "measured" and both["setup_s"] < compiled["setup_s"]
    return " Both starts with what compile left in the compiler's cache." if spared else ""


def not_compared(document: Document) -> str:
    """Which measured forms nobody compared with eager, in a sentence; or ""."""
    forms = [(name, document["forms"].get(name)) for name in FORMS if name != "eager"]
    names = [
        name
        for name, form in forms
        if form is not None and form["source"] == "measured" and form["step_ms"] and form["outputs"] == "unchecked"
    ]
    return f"Outputs not compared with eager's: {', '.join(names)}." if names else ""


def between_processes(document: Document) -> str:
    """What the ranges of measured forms do not hold, where the host sets one of them; or ""."""
    steps, works = document["window"]["steps"], document["attribution"]["classes"]["kernel"]["ns"]
    forms = [form for name in LAUNCHED if (form := document["forms"].get(name)) is not None]
    least = HOST_BOUND * units.to_ms(works) / (steps or 1)
    if not steps or not any(form["source"] == "measured" and (form["low"] or 0.0) > least for form in forms):
        return ""
    return (
        "Each measured range is of one process; where the host is the limit, another process may take about "
        f"{units.percent(PROCESS_SIGMA)} more or less."
    )


def warnings(document: Document) -> Iterator[str]:
    """What the run lacks, and what its forms' own notes say; and which measured times tell little."""
    yield from _unsteady(document)
    run = document["run"]
    if run is None:
        return
    yield from run["notes"]
    missing = [name for name in FORMS if name not in run["measured"]]
    if not run["measured"]:
        ended = "measured no form" if run["complete"] else "was interrupted before it measured a form"
        yield f"the run {ended}; record it again"
    elif not run["complete"]:
        yield f"the run was interrupted{': ' + ', '.join(missing) + ' not measured' if missing else ''}"
    if not run["traces"]:
        yield "the run has no usable trace: what was measured is shown, without an account of the step"
    elif "eager" not in run["traces"]:
        yield f"the run has no usable trace of eager: the account is that of {next(iter(run['traces']))}"


def _unsteady(document: Document) -> Iterator[str]:
    """Forms whose batches of steps took times so different that their median tells little."""
    for name, form in document["forms"].items():
        low, high = form["low"] or 0.0, form["high"] or 0.0
        if form["source"] == "measured" and form["step_ms"] and high > UNSTEADY * low:
            yield (
                f"{name}: equal batches of steps took {units.millisecond_range(low, high)} ms a step, so its time is "
                "hardly known; record it again, longer (--measure) or on an idle machine"
            )


def origin(run: RunEntry) -> str:
    """Where the run is and what was run: "runs/a: tracelens capture a.py, torch 2.11.0 on NVIDIA H200"."""
    environment, command = run["environment"], " ".join(run["command"])
    torch, gpu = environment.get("torch"), environment.get("gpu")
    on = f" on {gpu}" if gpu else ""
    told = [command, f"torch {torch}{on}" if torch else ""]
    ranks = environment.get("world_size")
    where = f"{run['path']} (rank {environment.get('rank')} of {ranks})" if ranks else run["path"]
    return ": ".join(filter(None, [where, ", ".join(filter(None, told))]))


def target(run: RunEntry) -> str:
    """What was repeated: "function step at train.py:4", or ""."""
    kind, name, where = (run["target"][key] for key in ("kind", "name", "where"))
    words = " ".join(filter(None, [(kind or "").replace("_", " "), name]))
    return f"{words} at {short_place(where)}" if words and where else words
