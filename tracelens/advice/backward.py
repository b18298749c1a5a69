"""Backward passes that return to a forward pass which an earlier one of the same step has gone through."""

from __future__ import annotations

import numpy as np

from tracelens.advice.patterns import NODE
from tracelens.analysis.results import Analysis
from tracelens.model import arguments as A
from tracelens.model.events import Bools, Category, Int64s
from tracelens.model.names import named


def returning_nodes(analysis: Analysis) -> Int64s:
    """How many nodes of later backward passes each counted step has whose forward operator ran before its first.

    A node and its forward operator share a sequence number. A pass is later when forward operators ran since the
    first began."""
    trace, host = analysis.trace, analysis.steps.host
    column = trace.args.get(A.SEQUENCE)
    if column is None:
        return np.zeros(len(host), dtype=np.int64)
    own = analysis.steps.threads.own.take(trace.events.lane)
    rows = np.flatnonzero((trace.events.category == Category.OPERATOR) & own)
    sequence = column.at(rows).astype(np.int64)
    rows, sequence = rows[sequence >= 0], sequence[sequence >= 0]
    if not len(rows):
        return np.zeros(len(host), dtype=np.int64)
    start, is_node = trace.events.start[rows], named(trace, rows, NODE)
    inside = [(start >= begin) & (start < end) for begin, end in host]
    return np.array([_returning(start[step], sequence[step], is_node[step]) for step in inside], dtype=np.int64)


def _returning(start: Int64s, sequence: Int64s, is_node: Bools) -> int:
    """Of one step's operators: nodes that run after forward operators that ran after the first node."""
    if not is_node.any():
        return 0
    first = start[is_node].min()
    before = np.unique(sequence[~is_node & (start < first)])
    fresh = ~is_node & (start > first) & ~np.isin(sequence, before) & np.isin(sequence, sequence[is_node])
    if not fresh.any():
        return 0
    return int((is_node & (start > start[fresh].min()) & np.isin(sequence, before)).sum())
