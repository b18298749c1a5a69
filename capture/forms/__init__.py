"""The four forms: each is a way to call the region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from capture.forms import both, compiled, eager, replay
from capture.job import Job
from capture.records import FormRecord


class Form(Protocol):
    """A way to call the region."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call."""

    def state(self) -> object:
        """Return a value that changes whenever the form compiles or captures."""

    def report(self, record: FormRecord) -> None:
        """Write what the form knows of itself into its record."""


def build(job: Job, original: Callable[..., Any], module: Any | None) -> Form:
    """Return the form of a job around the region's function; `module` is whose forward it is, if any."""
    if job.form == "eager":
        return eager.Eager(original)
    if job.form == "compile":
        return compiled.Compiled(original, job.compile_mode, job.dynamic)
    if job.form == "replay":
        return replay.Replay(original, module, job.max_graphs)
    if job.variant == "manual":
        return both.CompiledReplay(original, module, job.dynamic, job.max_graphs)
    return both.ReduceOverhead(original, job.dynamic)
