"""The four forms of a step that lives in this process: for notebooks and servers."""

from __future__ import annotations

import itertools
import random
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from capture import environment, forms
from capture.campaign import fastest, first_job, no_cuda, summary
from capture.failure import cannot_run
from capture.forms import Form
from capture.job import Job, Plan
from capture.manifest import RunDirectory
from capture.progress import Board, say
from capture.recorder import Recorder
from capture.records import FORMS, VARIANTS, FormRecord
from capture.region import Region, StopScript
from capture.stamping import publish_trace


def run(
    step: Callable[..., Any],
    inputs: Iterable[tuple[Any, ...]],
    output: Path | str,
    names: tuple[str, ...] = FORMS,
    plan: Plan | None = None,
    seed: int = 0,
    force: bool = False,
) -> dict[str, FormRecord]:
    """Record `step(*inputs)` in the named forms, the inputs in turn again and again; leave a run directory.

    All forms share this process: a crash ends it, and what a step changes, it changes in every form. A step that does
    not repeat itself in eager has its outputs `unchecked`.
    """
    pool, name = list(inputs), uuid.uuid4().hex[:12]
    directory = RunDirectory(Path(output).absolute(), [], name)
    directory.create(force)
    job = first_job("", (), directory.work, name, plan=plan or Plan(), seed=seed)
    where = f"{step.__code__.co_filename}:{step.__code__.co_firstlineno}" if hasattr(step, "__code__") else None
    described = {"kind": "function", "name": getattr(step, "__qualname__", type(step).__qualname__), "where": where}
    directory.describe(environment=environment.describe(), target=described)
    try:
        records = _Course(step, pool, directory, job).run(names)
        directory.finish(complete=True)
    finally:
        directory.remove_work()
    return records


class _Course:
    """The forms one after the other."""

    def __init__(
        self, step: Callable[..., Any], pool: list[tuple[Any, ...]], directory: RunDirectory, job: Job
    ) -> None:
        self._step, self._pool, self._directory, self._job = step, pool, directory, job
        self._repeats_itself = True

    def run(self, names: tuple[str, ...]) -> dict[str, FormRecord]:
        """Run eager, look whether it repeats itself, and run the others."""
        records = {"eager": self._form("eager", None)}
        self._directory.add("eager", records["eager"])
        check = self._record(self._job.with_(form="eager", check_only=True, work=self._job.work / "check"))
        self._repeats_itself = check.outputs == "match"
        for form in (form for form in FORMS if form in names and form != "eager"):
            variants = [self._form(form, variant) for variant in VARIANTS.get(form, (None,))]
            records[form] = fastest(variants)
            self._directory.add(form, records[form], variants if len(variants) > 1 else None)
        return records

    def _form(self, form: str, variant: str | None) -> FormRecord:
        job = self._job.with_(form=form, variant=variant)
        if form in {"replay", "both"} and not torch.cuda.is_initialized():
            return no_cuda(environment.describe())
        job = job.with_(work=self._job.work / job.name)
        record = self._record(job)
        if not self._repeats_itself and record.outputs != "match":
            record.outputs, record.outputs_note = "unchecked", "two eager runs differ: the step does not repeat itself"
        publish_trace(job, record, self._directory.trace(job.name))
        say(f"{job.name}: {summary(record)}")
        return record

    def _record(self, job: Job) -> FormRecord:
        """Call the step through the form until it is recorded."""
        job.work.mkdir(parents=True, exist_ok=True)
        torch.compiler.reset()
        random.seed(job.seed)
        torch.manual_seed(job.seed)  # pyright: ignore[reportUnknownMemberType]
        form: Form = forms.build(job, self._step, None)
        recorder = Recorder(job, Board(job.board), form, lambda: None)
        recorder.begin(0, True, None)
        region = Region(self._step, form, recorder)
        try:
            for arguments in itertools.cycle(self._pool):
                region(*arguments)
        except StopScript:
            pass
        except Exception as error:
            if job.form == "eager":
                raise
            recorder.record = cannot_run(error)
            recorder.record.variant = job.variant
        finally:
            recorder.close()
        return recorder.record
