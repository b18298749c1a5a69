"""What holds for the analysis of any trace."""

from __future__ import annotations

import numpy as np
import pytest

from tracelens.analysis.handles import DEVICE_EVENT, LAUNCH, OPERATOR, SYNC, resolve
from tracelens.analysis.results import Analysis
from tracelens.model.events import ABSENT


def check_tables(analysis: Analysis) -> None:
    """Tables agree with the events, the account and each other."""
    trace, steps, events = analysis.trace, analysis.steps, analysis.trace.events
    owned = events.device_work() & (events.device == analysis.device) & (steps.owner != ABSENT)
    assert analysis.kernels["count"].sum() == owned.sum()
    assert analysis.kernels["total_ns"].sum() == events.duration[owned].sum()
    assert analysis.kernels["share"].sum() == pytest.approx(1 if analysis.kernels["total_ns"].sum() else 0)
    assert analysis.operators["device_ns"].sum() <= events.duration[owned].sum()
    assert (analysis.operators["host_ns"] >= 0).all()
    attributed = sum(analysis.attribution.parts["sync"].values())
    assert analysis.syncs["saving_low_ns"].sum() <= attributed
    assert (analysis.syncs["saving_low_ns"] <= analysis.syncs["saving_high_ns"]).all()
    gaps = analysis.gaps
    idle = analysis.attribution.window_ns - sum(analysis.attribution.parts["kernel"].values())
    assert gaps["ns"].sum() == idle
    assert (gaps["start_ns"].diff().dropna() >= 0).all()
    check_handles(analysis)
    assert all(check.message for check in analysis.trust.checks)
    linked = trace.links.launch[np.flatnonzero(owned)]
    if (linked != ABSENT).all():
        assert set(np.unique(linked)) <= set(analysis.launches["row"])


def check_handles(analysis: Analysis) -> None:
    """Handles in tables resolve to the rows beside them."""
    tables = {
        LAUNCH: (analysis.launches, "handle"),
        SYNC: (analysis.syncs, "handle"),
        DEVICE_EVENT: (analysis.kernels, "example"),
        OPERATOR: (analysis.operators, "example"),
    }
    for prefix, (table, column) in tables.items():
        for row, handle in table[["row", column]].iloc[[0, -1] if len(table) else []].itertuples(index=False):
            target = resolve(analysis.trace, handle)
            assert (target.prefix, target.row) == (prefix, row)
    for _, gap in analysis.gaps.iloc[[0, -1] if len(analysis.gaps) else []].iterrows():
        target = resolve(analysis.trace, gap["handle"])
        assert (target.row, target.device) == (gap["row"], analysis.device)


def check_equal_steps(analysis: Analysis) -> None:
    """Every counted step launched the same device time within 3 %, though tiles of time hold others' work."""
    owner, events = analysis.steps.owner, analysis.trace.events
    work = events.device_work() & (owner != ABSENT)
    ns = np.bincount(owner[work], weights=events.duration[work])
    assert len(ns) == len(analysis.window.tiles) >= 2
    assert ns.max() <= 1.03 * ns.min()
