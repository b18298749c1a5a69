"""Forward work of which the backward pass has no use: the compiler leaves it out."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.advice.patterns import NODE
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Category, Int64s, Trace
from tracelens.model.masks import mask_of
from tracelens.model.names import bearing, named
from tracelens.model.nesting import nearest

DETACHES: Final = re.compile(r"^aten::detach_?$")
"""Hands a value to what has no gradient."""


def unused(trace: Trace, operator: Int64s) -> Bools:
    """(n) Whether operators made nodes of the graph of gradients that no backward pass runs, for a result that only the
    like of them read: one that is detached, or followed by work without gradients, may be used there."""
    nodes = bearing(trace, NODE, Category.OPERATOR)
    column = trace.args.get(A.SEQUENCE)
    if column is None or not nodes.any():
        return np.zeros(len(operator), dtype=np.bool_)
    sequence = column.at(np.arange(len(trace.events))).astype(np.int64)
    rows = _forward(trace, nodes, sequence >= 0)
    makes = _makes(trace, rows, sequence[rows])
    ran = np.isin(sequence[rows], sequence[nodes])
    reads = (makes & ran) | (sequence[rows] < 0) | named(trace, rows, DETACHES)
    readers = np.append(np.flatnonzero(reads), len(rows))
    follows = readers[np.searchsorted(readers, np.arange(len(rows)))]
    dropped = makes & ~ran & np.append(makes, False)[follows] & np.append(ran, False)[follows]
    maker = nearest(trace.links.parent, operator, mask_of(rows[makes], len(trace.events)))
    return (maker != ABSENT) & mask_of(rows[dropped], len(trace.events))[maker]


def _forward(trace: Trace, nodes: Bools, graded: Bools) -> Int64s:
    """Rows of the operators outside nodes, in order of time lane by lane; those that graded ones call have no sequence
    number and are none."""
    rows = np.flatnonzero(trace.events.category == Category.OPERATOR)
    inner = ~graded[rows] & (nearest(trace.links.parent, rows, graded) != ABSENT)
    rows = rows[~inner & (nearest(trace.links.parent, rows, nodes) == ABSENT)]
    return rows[np.lexsort((trace.events.start[rows], trace.events.lane[rows]))]


def _makes(trace: Trace, rows: Int64s, sequence: Int64s) -> Bools:
    """Which of the operators made a node: the next one to begin finds the sequence number risen."""
    lane = trace.events.lane[rows]
    risen = (sequence[1:] > sequence[:-1]) & (lane[1:] == lane[:-1]) & (sequence[:-1] >= 0)
    return np.append(risen, False)[: len(rows)]
