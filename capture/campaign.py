"""Runs the forms in turn: eager first, which finds what repeats; then the others, compared with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capture.job import LEAST_STEPS, Job, Plan, Target
from capture.launcher import Outcome, run_form
from capture.manifest import RunDirectory
from capture.progress import Line, say
from capture.records import VARIANTS, FormRecord, blocked
from capture.stamping import publish_trace
from capture.tape import Tape

GRAPH_FORMS = ("replay", "both")
NOISE = 3.0
"""Times the difference between two eager runs, one with its parameters perturbed, that a form may differ from eager."""
FEW_STEPS = "the script makes only {} whole steps: every phase took fewer than planned"
FITTED = (1.0, 0.9)
"""Shares of the steps a script made that the next tries may need: with threads it makes another number each time."""
OWN_END = "the script ended itself (as os._exit does) before it was measured; let it return"
NAME_IT = "name what repeats with --function NAME (a function of the script) or --module NAME"


class Interrupted(Exception):
    """Ctrl-C; what was finished stays."""


@dataclass
class Campaign:
    """One run directory in the making."""

    job: Job
    forms: tuple[str, ...]
    directory: RunDirectory
    timeout: float
    tape: Tape
    turns: int = 0
    eager: dict[str, Any] | None = None
    noise: float | None = None
    """Error over tolerance of a second, perturbed eager run against the first; known once it was needed."""

    def run(self) -> int:
        """Run every form asked for; returns the exit code of the eager script."""
        outcome, record = self._measure(self.job.with_(form="eager", variant=None), passthrough=True)
        self.directory.add("eager", record)
        self.eager = outcome.result
        if outcome.result is None or not self._worth_going_on(outcome, record):
            return exit_code(outcome, record)
        self._adopt(outcome.result)
        # What cannot run is told before the others take their time.
        for form in sorted(self.forms, key=lambda form: not self._lacks_cuda(form)):
            if form != "eager":
                self._run_form(form)
        return exit_code(outcome, record)

    def _worth_going_on(self, outcome: Outcome, record: FormRecord) -> bool:
        """Whether the other forms have something to run: what repeats is known, and no bug of the script's ended it."""
        found = outcome.result is not None and outcome.result["described"]["kind"] is not None
        cannot = [blocker["id"] for blocker in record.blockers]
        mishap = outcome.cut is not None or outcome.exit_code < 0 or cannot == ["memory"]
        return found and (mishap or not record.error)

    def _adopt(self, result: dict[str, Any]) -> None:
        """Give the other forms what eager found: the target and the phases."""
        target, plan = Target(**result["target"]), Plan(**result["plan"])
        self.job = self.job.with_(target=target, plan=plan)
        self.directory.describe(environment=result["environment"], target=result["described"])

    def _run_form(self, form: str) -> None:
        if self.eager is not None and self._lacks_cuda(form):
            self._say(form, no_cuda(self.eager["environment"]))
            return
        records: list[FormRecord] = []
        for variant in VARIANTS.get(form, (None,)):
            job = self.job.with_(form=form, variant=variant)
            records.append(self._measure(job)[1])
            self.directory.add(form, fastest(records), records if len(VARIANTS.get(form, ())) > 1 else None)

    def _lacks_cuda(self, form: str) -> bool:
        return form in GRAPH_FORMS and self.eager is not None and not self.eager["cuda_used"]

    def _say(self, form: str, record: FormRecord) -> None:
        Line(form).finish(summary(record))
        self.directory.add(form, record)

    def _measure(self, job: Job, passthrough: bool = False) -> tuple[Outcome, FormRecord]:
        """Run one form, compare it with eager, and put its trace in place."""
        job = job.with_(work=self.directory.work / job.name)
        outcome, record = self._fitting(job, passthrough)
        if not record.error and not outcome.finished:
            record.error = _why_nothing(outcome)
        if record.outputs == "differ":
            self._judge(job, record)
        publish_trace(job, record, self.directory.trace(job.name))
        Line(job.name).finish(summary(record))
        return outcome, record

    def _fitting(self, job: Job, passthrough: bool) -> tuple[Outcome, FormRecord]:
        """Run one form, and again with phases that fit if the script made too few steps for it."""
        outcome, record = self._once(job, passthrough)
        planned, steps = job.plan.steps, 0
        for share in FITTED:
            if not outcome.ended_early or record.error or outcome.steps < LEAST_STEPS:
                break
            steps, notes = outcome.steps, record.notes
            say(f"{job.name}: only {steps} whole steps; it runs again, with fewer steps in each phase")
            job = outcome.refitted(job, max(LEAST_STEPS, int(steps * share)))
            self.job = self.job.with_(plan=job.plan)
            outcome, record = self._once(job, passthrough)
            record.notes += [note for note in notes if note not in record.notes]
        if job.plan.steps < planned:
            record.notes.append(FEW_STEPS.format(steps))
        return outcome, record

    def _judge(self, job: Job, record: FormRecord) -> None:
        """Look once more at outputs that differ: random numbers drawn in another way, or noise of eager's own.

        One rank of several runs nothing more: the others, which may agree, would wait for ever.
        """
        if self.eager is not None and self.eager["record"]["random"] and job.form != "replay":
            check = FormRecord() if job.plan.in_step else self._check(job.with_(fallback_random=True))
            record.outputs, record.error_over_tolerance = check.outputs, check.error_over_tolerance
            record.largest_error = check.largest_error
            record.outputs_note = f"{check.outputs_note or 'not compared'}, drawing eager's random numbers"
        if record.outputs == "differ" and not job.plan.in_step:
            runs = "two eager runs" if job.target.function else "two eager runs from parameters one rounding apart"
            record.outputs_note = f"{record.outputs_note}; {runs} differ by {self._noise():.2g} tolerances"
            explained = (record.error_over_tolerance or 0.0) <= NOISE * self._noise()
            record.outputs = "match" if explained else "differ"

    def _noise(self) -> float:
        if self.noise is None:
            check = self._check(self.job.with_(form="eager", variant=None, perturbed=True))
            self.noise = check.error_over_tolerance or 0.0
        return self.noise

    def _check(self, job: Job) -> FormRecord:
        """Run a form untimed, only as far as its outputs are compared."""
        name = f"{job.name}.check"
        job = job.with_(check_only=True, work=self.directory.work / name)
        outcome = self._launch(job, self.directory.log(name), name)
        if outcome.cut == "interrupted":
            raise Interrupted
        return FormRecord.from_json(outcome.result["record"]) if outcome.result else FormRecord()

    def _once(self, job: Job, passthrough: bool) -> tuple[Outcome, FormRecord]:
        log = None if passthrough else self.directory.log(job.name)
        outcome = self._launch(job, log, job.name)
        record = FormRecord.from_json(outcome.result["record"]) if outcome.result else FormRecord(variant=job.variant)
        record.log = log.name if log else None
        record.error = record.error or _cut(outcome)
        if outcome.cut == "interrupted":
            publish_trace(job, record, self.directory.trace(job.name))
            self.directory.add(job.form, record)
            raise Interrupted
        return outcome, record

    def _launch(self, job: Job, log: Path | None, name: str) -> Outcome:
        self.turns += 1
        return run_form(job.with_(turn=self.turns), self.tape, log, self.timeout, Line(name))


def no_cuda(versions: dict[str, Any]) -> FormRecord:
    """Return the record of a form that has no CUDA device to run on."""
    gpu = versions["gpu"]
    have = f"the script leaves {gpu} unused" if gpu else f"torch {versions['torch']} has none here"
    instead = "run its step on it" if gpu else "capture where there is one"
    return blocked("no_cuda", f"needs a CUDA device: {have}; {instead}")


def fastest(records: list[FormRecord]) -> FormRecord:
    """Return the variant to report: the fastest that ran with the right answer, else the fastest, else the first."""
    ran = [record for record in records if record.step_ms is not None]
    right = [record for record in ran if record.outputs != "differ"]
    return min(right or ran or records[:1], key=lambda record: record.step_ms or 0.0)


def summary(record: FormRecord) -> str:
    """Return a form's outcome in one line."""
    if record.step_ms is None:
        return record.error or "nothing measured"
    outputs = "not compared" if record.outputs == "unchecked" else record.outputs
    text = f"{record.step_ms:.3f} ms a step ({record.low:.3f} to {record.high:.3f}), outputs {outputs}"
    return f"{record.error}; what it measured until then is kept: {text}" if record.error else text


def _cut(outcome: Outcome) -> str | None:
    """Return what ended a form before its time, None if nothing did."""
    if outcome.cut is not None:
        return outcome.cut
    if outcome.finished:
        return None
    if outcome.exit_code < 0:
        return f"killed by signal {-outcome.exit_code}"
    ended = outcome.result["ended"] if outcome.result else None
    if ended in {None, "exit"} and outcome.exit_code:
        return f"the script exited with code {outcome.exit_code}"
    return None if ended else OWN_END


def _why_nothing(outcome: Outcome) -> str:
    """Return why a script that ended by itself could not be measured."""
    result = outcome.result or {}
    if result.get("described", {}).get("kind") is None:
        calls = result.get("calls_seen", 0)
        return f"nothing repeats: no module was called often enough (at most {calls} times); {NAME_IT}"
    if outcome.steps >= LEAST_STEPS:
        return f"the script makes another number of steps each time, at last {outcome.steps}; let it repeat more often"
    return f"too few steps: {outcome.steps} whole ones of at least {LEAST_STEPS}; let the script repeat more often"


def exit_code(outcome: Outcome, record: FormRecord) -> int:
    """Return eager's exit code as a shell would show it; 2 if it gave nothing to measure, or not in time."""
    if outcome.exit_code < 0 and not record.error:
        return 0  # it had told all, and was ended because it went on
    if outcome.cut is not None:
        return 2
    if outcome.exit_code < 0:
        return 128 - outcome.exit_code
    return outcome.exit_code or (2 if record.error else 0)


def first_job(script: str, arguments: tuple[str, ...], work: Path, run: str, **options: Any) -> Job:
    """Return the orders that the forms' own derive from."""
    return replace(
        Job("eager", None, script, False, arguments, work, work / "eager_outputs.pt", run),
        **options,
    )
