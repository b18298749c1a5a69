"""Collectives that last longer than their data needs: a rank is late."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

import numpy as np

from tracelens.advice.arguments import parsed, tensors, width
from tracelens.advice.results import Finding, Form
from tracelens.advice.rules import evidence
from tracelens.advice.rules.rule import Rule, per_step_ms, severity
from tracelens.advice.step.often import a_step
from tracelens.analysis.results import Analysis
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Category, Floats, Int64s
from tracelens.model.units import counted, milliseconds

SLOWEST: Final = 5.0
"""Bytes per ns that a collective moves at least, over the slowest network in use. [judgement: a 40 Gbit/s link]"""
LATENCY_NS: Final = 200_000
"""Time that a collective over several hosts takes without data. [judgement; inside one host 20 to 50 us]"""
SHARE: Final = 0.03
"""Share of the window in waiting. [judgement]"""


def check(analysis: Analysis, forms: Mapping[str, Form]) -> Finding | None:
    """Fires where collectives wait: longer than their bytes explain, where sizes are recorded, else longer than the
    same collective of another step."""
    del forms
    (rows, waited), window = _waiting(analysis), analysis.attribution.window_ns
    share = float(waited.sum()) / max(window, 1)
    if share < SHARE:
        return None
    late = rows[waited > 0]
    return Finding(
        RULE.id,
        severity(share),
        f"{counted(len(late), 'collective')} {'waits' if len(late) == 1 else 'wait'} for a late rank: "
        f"{milliseconds(per_step_ms(analysis, float(waited.sum())))} ms {a_step(analysis)} more than the data needs",
        per_step_ms(analysis, float(waited.sum())),
        evidence.handles(analysis, "k", rows[np.argsort(-waited, kind="stable")]),
        "Give the traces of all ranks to tracelens ranks, and look at the one that it calls late: its host, its data "
        "or its pauses hold up the others. No other form of this rank shortens the wait.",
    )


def late_share(analysis: Analysis) -> float:
    """Share of the time in which the device works that its collectives wait for a late rank."""
    works = analysis.attribution.share("kernel") * analysis.attribution.window_ns
    return min(float(_waiting(analysis)[1].sum()) / works, 1.0) if works else 0.0


def _waiting(analysis: Analysis) -> tuple[Int64s, Floats]:
    """(n) Rows of the collectives, and ns that each waits."""
    rows = _collectives(analysis)
    if not len(rows):
        return rows, np.zeros(0)
    return rows, np.maximum(_beyond_data(analysis, rows), _beyond_shortest(analysis, rows))


def _collectives(analysis: Analysis) -> Int64s:
    """Rows of the communication kernels that the counted steps launched."""
    names = set(analysis.tables["kernels"].only("kind", "communication")["name"])
    rows = evidence.work(analysis, Category.KERNEL)
    trace = analysis.trace
    wanted = np.array([name in names for name in trace.names], dtype=np.bool_) if names else np.zeros(0, np.bool_)
    return rows[wanted[trace.events.name[rows]]] if names else rows[:0]


def _beyond_data(analysis: Analysis, rows: Int64s) -> Floats:
    """(n) ns of each collective beyond what its operator's tensors need; 0 where their shapes are not recorded."""
    trace = analysis.trace
    columns = [trace.args.get(key) for key in (A.SHAPES, A.DTYPES)]
    if columns[0] is None:
        return np.zeros(len(rows))
    operator = trace.links.operator[rows]
    texts = np.column_stack([np.full(len(rows), ABSENT) if c is None else c.at(operator) for c in columns])
    distinct, inverse = np.unique(texts, axis=0, return_inverse=True)
    size = np.array([_bytes(analysis, int(shapes), int(dtypes)) for shapes, dtypes in distinct])[inverse.ravel()]
    spent = trace.events.duration[rows] - LATENCY_NS - size / SLOWEST
    return np.where((size > 0) & (operator != ABSENT), np.maximum(spent, 0.0), 0.0)


def _bytes(analysis: Analysis, shapes: int, dtypes: int) -> int:
    """Bytes of all tensors of an operator; 0 where it names none."""
    kinds = parsed(analysis.trace, dtypes)
    given = enumerate(parsed(analysis.trace, shapes))
    return sum(prod(dims) * width(kinds, at) for at, shape in given for dims in tensors(shape))


def _beyond_shortest(analysis: Analysis, rows: Int64s) -> Floats:
    """(n) ns of each collective beyond the shortest of its place in the steps; 0 where steps differ in number."""
    events, each = analysis.trace.events, evidence.counts(analysis, rows)
    if len(each) < 2 or np.ptp(each) or not each[0]:
        return np.zeros(len(rows))
    order = np.lexsort((events.start[rows], analysis.steps.owner[rows]))
    lasted = events.duration[rows][order].reshape(len(each), -1)
    waited = np.zeros(len(rows))
    waited[order] = (lasted - lasted.min(axis=0)).ravel()
    return waited


RULE: Final = Rule(
    "late_rank",
    "Collectives that wait for a late rank",
    "A collective kernel runs from its own launch until the last rank has joined, so a rank that is early looks busy "
    "while it waits. Few bytes that take milliseconds, or the same collective short in one step and long in another, "
    "show it. A rank that is late in every step cannot be told where sizes are not recorded.",
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html",
    check,
    fix="find the late rank",
    remains=True,
    less_work=True,
)
