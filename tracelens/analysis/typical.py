"""The counted steps that stand for all: without those that took longer than their work explains."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from tracelens.analysis.attribution import attribute
from tracelens.analysis.results import Analysis
from tracelens.analysis.work import owned_work
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Floats, Int32s, Int64s, Trace
from tracelens.model.intervals import lengths
from tracelens.model.once import once

PAUSED: Final = 1.2
"""A step longer than this times the typical one, and than its work allows, was held up. [judgement; as little as a
step that warms up]"""
SIZES: Final = (A.GRID, A.BYTES)
"""What tells how much a kernel or a copy does."""


def of_typical_steps(analysis: Analysis) -> Analysis:
    """The analysis over its typical steps alone, so that all that is said of one step is said of the same steps; the
    analysis itself where all are typical. Its tables and its trust stay those of the whole window."""
    return _without_paused(analysis) or analysis


@once
def _without_paused(analysis: Analysis) -> Analysis | None:
    """The analysis over its typical steps alone; None where all are typical."""
    steps = analysis.steps
    typical = typical_steps(analysis)
    if typical.all():
        return None
    index = np.append(np.where(typical, np.cumsum(typical) - 1, ABSENT), ABSENT).astype(steps.owner.dtype)
    tiles = steps.window.tiles[typical]
    kept = replace(steps, window=replace(steps.window, tiles=tiles), owner=index[steps.owner], host=steps.host[typical])
    return replace(analysis, steps=kept, attribution=attribute(analysis.timeline, tiles))


@once
def typical_steps(analysis: Analysis) -> Bools:
    """(counted steps) Whether a step's tile is no longer than PAUSED times the median's, or than its work explains.

    Where one is longer, the others' time on the host must be typical too, as a pause between two steps is of both;
    where that leaves no step, the tiles decide. Half of several steps are not held up: then all are typical."""
    steps, short = analysis.steps, _short_steps(analysis)
    if short.all() or _are_halves(short):
        return np.ones(len(short), dtype=np.bool_)
    both = short & (_over_usual(steps.host) <= PAUSED * _work(analysis))
    return both if both.any() else short


def halves(analysis: Analysis) -> tuple[float, float] | None:
    """Mean length in ns of the short and of the long steps, where half of several are longer than their work explains;
    else None."""
    short, tiles = _short_steps(analysis), analysis.window.tiles
    took = lengths(tiles)
    return (float(took[short].mean()), float(took[~short].mean())) if _are_halves(short) else None


def _short_steps(analysis: Analysis) -> Bools:
    """(counted steps) Whether a step's tile is no longer than PAUSED times the median's, or than its work explains."""
    tile = _over_usual(analysis.steps.window.tiles)
    every = tile.max(initial=0.0) <= PAUSED
    return np.ones(len(tile), dtype=np.bool_) if every else tile <= PAUSED * _work(analysis)


def _are_halves(short: Bools) -> bool:
    """Whether at least half of several steps are no short ones."""
    return len(short) > 2 and 0 < short.sum() <= len(short) / 2


def _over_usual(spans: Int64s) -> Floats:
    """Length of each span over the median one's (the lower of two)."""
    return _over_median(lengths(spans).astype(float))


@once
def _work(analysis: Analysis) -> Floats:
    """How many times the median step's work each step has, in launches or device time, but 1 at least. Device time is
    no more work where a step launches what most do: the same kernels of the same sizes took longer."""
    events, steps = analysis.trace.events, analysis.steps
    rows = owned_work(analysis.trace, steps, analysis.device)
    owner, count = steps.owner[rows], len(steps.window.tiles)
    pieces = np.bincount(owner, minlength=count).astype(np.float64)
    busy = np.bincount(owner, weights=events.duration[rows], minlength=count).astype(np.float64)
    longer = np.where(_have_same_work(analysis.trace, rows, owner, count), 1.0, _over_median(busy))
    return np.maximum(np.maximum(_over_median(pieces), longer), 1.0)


def _have_same_work(trace: Trace, rows: Int64s, owner: Int32s, count: int) -> Bools:
    """(count) Whether a step has the kernels and copies that more than half of the steps have, in their order and of
    their sizes; none where sizes are not recorded."""
    order = np.lexsort((trace.events.start[rows], owner))
    told = np.column_stack([trace.events.name[rows], *(_column(trace, key, rows) for key in SIZES)])[order]
    if np.any((told[:, 1:] == ABSENT).all(axis=1)):
        return np.zeros(count, dtype=np.bool_)
    bounds = np.searchsorted(owner[order], np.arange(count + 1))
    kinds = [told[first:last].tobytes() for first, last in pairwise(bounds.tolist())]
    (usual, often), *_ = Counter(kinds).most_common(1)
    return np.array([kind == usual for kind in kinds]) & (2 * often > count)


def _column(trace: Trace, key: str, rows: Int64s) -> Int64s:
    column = trace.args.get(key)
    return np.full(len(rows), ABSENT) if column is None else column.at(rows).astype(np.int64)


def _over_median(values: Floats) -> Floats:
    """Each value over the median (the lower of two); 1 where that is 0."""
    middle = np.sort(values)[(len(values) - 1) // 2] if len(values) else 0.0
    return values / middle if middle > 0 else np.ones(len(values))
