"""What `import tracelens` offers: load a trace, analyze it, report on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.advice import advise
from tracelens.analysis import analyze as analyze_trace
from tracelens.analysis.handles import DEVICE_EVENT, LAUNCH, OPERATOR, handles_of, rows_behind
from tracelens.analysis.kinds import kinds
from tracelens.analysis.results import Analysis
from tracelens.analysis.table import Table
from tracelens.analysis.tables.columns import name_column
from tracelens.analysis.where import places
from tracelens.loading import load_trace
from tracelens.loading.choose import load_found
from tracelens.model import events
from tracelens.model.events import ABSENT
from tracelens.reporting.report import Report

if TYPE_CHECKING:
    import pandas as pd

Progress: TypeAlias = Callable[[int, int, int], None]
"""Called with bytes done, bytes in all (0 when unknown) and events so far."""
Span: TypeAlias = tuple[int, int] | Literal["all"]
"""(start, end) in ns after the trace's start, or "all": from the first to the last device event."""


class Trace(events.Trace):
    """A loaded trace: numpy columns in `events` (a row per event of the file) and DataFrames made on first use.

    The DataFrames have a row per event in start order. Times are int64 ns, `start_ns` after the trace's start
    (`base_ns` on the file's own clock); `row` is the index into `events`, `handle` what `tracelens show` takes.
    """

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """Kernels, copies and memsets: handle, name, start_ns, ns, operator, row, kind, device, stream, launch.

        `operator` is the name of the operator that issued it, `launch` the handle of the host call that submitted
        it; None where the trace does not say. All kernels of a graph launch share one."""
        rows = rows_behind(self, DEVICE_EVENT)
        call = self.links.launch[rows]
        launch = handles_of(self, LAUNCH, call)
        launch[call == ABSENT] = None
        events = self.events
        return self._table(
            DEVICE_EVENT,
            rows,
            kind=kinds(self, rows),
            device=events.device[rows],
            stream=events.stream[rows],
            launch=launch,
        )

    @cached_property
    def operators(self) -> pd.DataFrame:
        """Operator events, nested ones too: handle, name, start_ns, ns, operator, row, where.

        `operator` is the name of the operator that called it, `where` the user's "file:line" (None: not recorded)."""
        rows = rows_behind(self, OPERATOR)
        return self._table(OPERATOR, rows, where=places(self, rows))

    @cached_property
    def launches(self) -> pd.DataFrame:
        """Host calls that submit device work: handle, name, start_ns, ns, operator, row, where, kernels.

        `kernels` counts the device events that the call submitted."""
        rows = rows_behind(self, LAUNCH)
        call = self.links.launch
        count = np.bincount(call[call != ABSENT], minlength=len(self.events))[rows]
        return self._table(LAUNCH, rows, where=places(self, rows), kernels=count)

    def _table(self, prefix: str, rows: events.Int64s, **more: npt.NDArray[np.generic]) -> pd.DataFrame:
        found = Table(
            {
                "handle": handles_of(self, prefix, rows),
                "name": name_column(self, rows),
                "start_ns": self.events.start[rows],
                "ns": self.events.duration[rows],
                "operator": name_column(self, self.links.operator[rows]),
                "row": rows,
                **more,
            }
        )
        return found.frame()


def load(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Trace:
    """Read a torch.profiler trace whole: .json, .json.gz, .json.zst, a directory that holds one, or "-" for stdin.

    Of a run directory it is the first trace of eager, compile, replay and both that can be read and is the run's own.
    Damage is mended and counted in `Trace.repairs`. Raises tracelens.errors.UnreadableError, a one-line message, when
    the input cannot be read as a trace."""
    trace = load_trace(os.fspath(path), progress=progress)
    return Trace(**{field.name: getattr(trace, field.name) for field in fields(trace)})


def analyze(
    source: events.Trace | str | os.PathLike[str],
    *,
    device: int | None = None,
    step: str | None = None,
    span: Span | None = None,
) -> Analysis:
    """Account for the time of one device (the busiest by default) over one window of a trace or the file it is in.

    step: an annotation that marks the step; by default ProfilerStep, else what repeats. span: judge this stretch
    instead. Times in the result are int64 ns. Raises tracelens.errors.UsageError for a device or annotation that
    the trace lacks; a trace without device work gives an empty analysis."""
    trace = source if isinstance(source, events.Trace) else load(source)
    return analyze_trace(trace, device=device, step=step, span=span)


def report(
    source: events.Trace | str | os.PathLike[str],
    *,
    device: int | None = None,
    step: str | None = None,
    span: Span | None = None,
    progress: Progress | None = None,
) -> Report:
    """Judge a trace, the file it is in, or a run: `.document` is the report document, `.to_text()`,
    `.to_markdown()`, `.to_json()` and `.to_csv()` render it.

    Options and errors are those of `load` and `analyze`. Of a run directory the forms are those measured, and the
    account is of its first usable trace; without any there is no account. The file of a trace that lies in the
    directory of its run keeps what the run measured. Predicted times in the document are ms
    with a range; the verdict is "abstain" where neither trace nor measurement can carry one."""
    if isinstance(source, events.Trace):
        analysis = analyze(source, device=device, step=step, span=span)
        return Report(analysis, advise(analysis))
    path = os.fspath(source)
    trace, run = load_found(path, progress=progress)
    analysis = analyze(trace, device=device, step=step, span=span)
    return Report(analysis, advise(analysis, run.forms if run else None, run.target if run else None), run)
