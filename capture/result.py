"""What one form's process leaves: its record and how the script went, rewritten whole after every phase."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from capture import environment
from capture.failure import cannot_run
from capture.job import Job
from capture.records import FormRecord

if TYPE_CHECKING:
    from capture.recorder import Recorder


class Result:
    """The result so far; there is one also if the script never imports torch."""

    def __init__(self, job: Job) -> None:
        self.job, self.target = job, job.target
        self.described: dict[str, str | None] = {"kind": None, "name": None, "where": None}
        self.recorder: Recorder | None = None
        self.calls_seen = 0
        self._failed: FormRecord | None = None

    def fail(self, error: BaseException) -> None:
        """Record that the form cannot run, if it was under way."""
        if self.recorder is not None and self.recorder.finished:
            return
        record = cannot_run(error)
        record.variant = self.job.variant
        if self.recorder is not None:
            self.recorder.report_form(record)
        self._failed = record

    def save(self, ended: str | None = None, exit_code: int | None = None) -> None:
        """Write the result, whole or not at all."""
        recorder, torch = self.recorder, sys.modules.get("torch")
        record = self._failed or (recorder.record if recorder else FormRecord(variant=self.job.variant))
        result: dict[str, Any] = {
            "record": record.as_json(),
            "finished": self._failed is not None or (recorder is not None and recorder.finished),
            "steps_seen": recorder.step if recorder else 0,
            "plan": asdict(recorder.plan if recorder else self.job.plan),
            "calls_seen": self.calls_seen,
            "target": asdict(self.target),
            "described": self.described,
            "cuda_used": torch is not None and torch.cuda.is_initialized(),
            "environment": environment.describe(),
            "ended": ended,
            "exit_code": exit_code,
        }
        partial = self.job.result.with_suffix(".partial")
        # Where the script has removed the run directory, the command says so.
        with suppress(FileNotFoundError):
            partial.write_text(json.dumps(result))
            partial.replace(self.job.result)
