"""Backward passes that a compiler of the whole step cannot follow."""

from __future__ import annotations

import numpy as np

from tracelens.advice.patterns import NODE, RECURRENT
from tracelens.advice.step.dependencies import main_stream
from tracelens.advice.step.region import Region
from tracelens.analysis.kinds import is_communication
from tracelens.analysis.results import Analysis
from tracelens.model import arguments as A
from tracelens.model.events import ABSENT, Bools, Category, Int64s, SparseColumn, Trace
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


def beside_main_stream(analysis: Analysis, region: Region) -> Int64s:
    """(k) Rows of the counted steps' kernels on other streams than the main one, of forward operators with a node.

    What a library or a collective brings to a stream of its own, the program did not."""
    trace, column = analysis.trace, analysis.trace.args.get(A.SEQUENCE)
    if column is None or len(np.unique(region.stream)) < 2:
        return np.empty(0, dtype=np.int64)
    events, operator = trace.events, trace.links.operator
    rows = np.flatnonzero((events.category == Category.KERNEL) & (analysis.steps.owner != ABSENT))
    rows = rows[operator[rows] != ABSENT]
    rows = rows[(events.stream[rows] != main_stream(region)) & ~named(trace, operator[rows], RECURRENT)]
    beside = rows[~is_communication(trace, rows)]
    return beside[np.isin(operator[beside], _differentiated(trace, column))]


def _differentiated(trace: Trace, column: SparseColumn) -> Int64s:
    """Rows of the forward operators that made a node, of all that give its sequence number, which one that makes none
    shares with the next that does: the last that began before the node, and what that one began within."""
    events = trace.events
    rows = np.flatnonzero(events.category == Category.OPERATOR)
    sequence = column.at(rows).astype(np.int64)
    order = np.lexsort((events.start[rows], sequence))
    rows, sequence = rows[order], sequence[order]
    start, is_node, at = events.start[rows], named(trace, rows, NODE), np.arange(len(rows))
    makers = np.flatnonzero(~is_node[:-1] & is_node[1:] & (sequence[:-1] == sequence[1:]) & (sequence[1:] >= 0))
    if not len(makers):
        return rows[:0]
    maker = makers[np.minimum(np.searchsorted(makers, at), len(makers) - 1)]
    made = (maker >= at) & (sequence[maker] == sequence) & (start[maker] <= events.end[rows]) & ~is_node
    return rows[made]
