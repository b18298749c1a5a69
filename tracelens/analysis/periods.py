"""The period of a device's launch sequence, for traces without annotated steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.model.events import ABSENT, Int64s, Trace
from tracelens.model.masks import run_starts

MATCH: Final = 0.98
"""Least share of launches that equal the one a period before."""
TIE: Final = 0.005
"""Of periods that match almost as well as the best, the shortest counts."""
PERIODS: Final = 3
"""Least number of periods."""
MOST_CANDIDATES: Final = 256
"""Periods that are compared launch by launch, the shortest first."""


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """A unit of launches that repeats."""

    launches: int
    """Launch calls in the unit."""
    repeats: float
    start: Int64s
    """Start of the unit's first call in each repetition, in ns."""


def find_period(trace: Trace, rows: Int64s) -> Period | None:
    """The shortest unit of what `rows` (device work) ran, in launch order; None where nothing repeats.

    One graph launch counts as one launch, told apart by all its kernels. The unit may be a layer of the step."""
    calls, content = _launch_sequence(trace, rows)
    length = period_of(content)
    return None if not length else Period(length, len(content) / length, trace.events.start[calls[::length]])


def _launch_sequence(trace: Trace, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Launch calls in order, and a number for what each one ran."""
    launch = trace.links.launch[rows].astype(np.int64)
    rows, launch = rows[launch != ABSENT], launch[launch != ABSENT]
    order = np.lexsort((trace.events.start[rows], launch, trace.events.start[launch]))
    rows, launch = rows[order], launch[order]
    first = np.flatnonzero(run_starts(launch))
    if not len(first):
        return launch, launch
    counts = np.diff(np.append(first, len(launch)))
    position = np.arange(len(launch)) - np.repeat(first, counts)
    name = (trace.events.name[rows].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    name ^= name >> np.uint64(29)
    digest = np.add.reduceat(name * (2 * position.astype(np.uint64) + np.uint64(1)), first)
    return launch[first], np.unique(digest, return_inverse=True)[1].astype(np.int64)


def period_of(content: Int64s) -> int:
    """Length of the shortest period of a sequence; 0 where it has none."""
    candidates = _candidates(content)
    matches = [np.count_nonzero(content[p:] == content[:-p]) / (len(content) - p) for p in candidates]
    good = [(period, match) for period, match in zip(candidates, matches, strict=True) if match >= MATCH]
    order = np.argsort(content, kind="stable") if good else content
    good = [(period, match) for period, match in good if _fills_every_window(content, order, period)]
    best = max((match for _, match in good), default=0.0)
    return next((period for period, match in good if match >= best - TIE), 0)


def _candidates(content: Int64s) -> list[int]:
    """Periods that may match, ascending, by the autocorrelation of the contents as unit phases.

    Each equal pair adds 1 and each other one at least -1, so that a match m shows as at least 2 m - 1."""
    longest = len(content) // PERIODS
    most = len(content) - MATCH * (len(content) - longest) + 1
    if not longest or np.count_nonzero(np.bincount(content)) > most:
        # What matches came before: more distinct contents than these leave too few matches.
        return []
    phases = np.exp(2j * np.pi * ((content * 0.6180339887498949) % 1))
    spectrum = np.fft.fft(phases, 2 * len(content))
    products = np.fft.ifft(spectrum * spectrum.conj())[1 : longest + 1].real
    estimate = products / (len(content) - np.arange(1, longest + 1))
    return (1 + np.flatnonzero(estimate >= 2 * MATCH - 1 - 1e-6))[:MOST_CANDIDATES].tolist()


def _fills_every_window(content: Int64s, order: Int64s, period: int) -> bool:
    """Whether every content seen 3 times or more occurs in all windows of this length, or all but one.

    order: positions by content, then ascending, so that a content's windows ascend as well."""
    windows = len(content) // period
    whole = order[order < windows * period]
    seen, window = content[whole], whole // period
    again = (seen[1:] == seen[:-1]) & (window[1:] == window[:-1])
    count = np.bincount(content)
    filled = np.bincount(seen[np.append(True, ~again)], minlength=len(count))
    return bool((filled[count >= 3] >= windows - 1).all())
