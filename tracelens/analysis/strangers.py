"""What other threads and processes did meanwhile that is no part of the steps, as notes."""

from __future__ import annotations

import numpy as np

from tracelens.analysis.results import Steps
from tracelens.model.events import ABSENT, SUBMITS, Bools, Category, Role, Trace, among
from tracelens.model.intervals import inside
from tracelens.model.units import counted


def strangers(trace: Trace, steps: Steps, device: int) -> tuple[str, ...]:
    """A note for other processes in the file, and one for what other threads copied and waited for in the steps."""
    count = processes(trace)
    note = f"{count} processes in this file: judged is the one that launches the work of device {device}"
    return ((note,) if count > 1 else ()) + _of_threads(trace, steps, device)


def processes(trace: Trace) -> int:
    """How many processes of the file submit work."""
    events = trace.events
    calls = (events.category == Category.RUNTIME) & among(events.role, SUBMITS)
    lanes: list[int] = np.unique(events.lane[calls]).tolist()
    return len({trace.lanes.pid[lane] for lane in lanes})


def _of_threads(trace: Trace, steps: Steps, device: int) -> tuple[str, ...]:
    """A note of what other threads copied and waited for in the counted steps."""
    events, launch, other = trace.events, trace.links.launch, _other(trace, steps)
    copies = int(other[launch[(launch != ABSENT) & (events.device == device)]].sum())
    waits = int((other & (events.category == Category.RUNTIME) & (events.role == Role.SYNC)).sum())
    told = [counted(number, noun) for number, noun in ((copies, "device event"), (waits, "wait")) if number]
    return (f"{' and '.join(told)} of other threads left out: no part of a step",) if told else ()


def _other(trace: Trace, steps: Steps) -> Bools:
    """Mask of the events that other threads of the process began in the counted steps."""
    events, threads = trace.events, steps.threads
    rows = np.flatnonzero((threads.process & ~threads.own).take(events.lane))
    other = np.zeros(len(events), dtype=np.bool_)
    other[rows] = inside(steps.host[:, 0], steps.host[:, 1], events.start[rows])
    return other
