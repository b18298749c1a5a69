"""Device work by window and step: what ran in a window, and what its counted steps launched."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tracelens.analysis.extent import device_rows
from tracelens.analysis.results import Steps
from tracelens.model.events import ABSENT, Int64s, Trace


def work_in_window(trace: Trace, steps: Steps, device: int) -> Int64s:
    """Rows of a device's work that shares time with the window, in start order."""
    events, rows = trace.events, device_rows(trace, device)
    rows = rows[steps.window.meets(events.start[rows], events.end[rows])]
    return rows[np.argsort(events.start[rows], kind="stable")]


def owned_work(trace: Trace, steps: Steps, device: int) -> Int64s:
    """Rows of the device work that the counted steps launched on a device, in file order."""
    rows = device_rows(trace, device)
    return rows[steps.owner[rows] != ABSENT]


def launched_work(trace: Trace, steps: Steps, device: int) -> dict[int, Int64s]:
    """Rows of the work whose launch is known of each counted step that has any, by its number, in launch order."""
    events, work = trace.events, owned_work(trace, steps, device)
    work = work[trace.links.launch[work] != ABSENT]
    call = trace.links.launch[work]
    work = work[np.lexsort((events.start[work], events.start[call], steps.owner[work]))]
    launching, first = np.unique(steps.owner[work], return_index=True)
    bounds = pairwise([*first.tolist(), len(work)])
    return {step: work[begin:end] for step, (begin, end) in zip(launching.tolist(), bounds, strict=True)}


def is_alike(runs: list[Int64s], column: npt.NDArray[np.integer]) -> bool:
    """Whether a column reads the same over every run of rows."""
    if len(set(map(len, runs))) > 1:
        return False
    return not runs or bool((column[stacked(runs)] == column[runs[0]]).all())


def stacked(runs: list[Int64s]) -> Int64s:
    """(runs, work) Runs of one length below each other; np.vstack takes several times as long for hundreds of them."""
    return np.concatenate(runs).reshape(len(runs), -1)
