"""Ranks merged into one file keep their launches apart, though they number their calls alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.loading.traces import call, kernel, launches, load_events
from tracelens.model.events import ABSENT

pytestmark = pytest.mark.usefixtures("either_scan")


def test_ranks_merged_into_one_file_keep_their_launches(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for rank in (0, 1):
        host = {"pid": 100 + rank, "tid": 100 + rank}
        for number in (1, 2, 3):
            at = 100 * number + rank
            events.append(call(correlation=number, ts=at, dur=2) | host)
            events.append(kernel(correlation=number, device=rank) | {"ts": at + 20 + 3 * rank, "pid": rank})
        own = call(correlation=50 + rank, ts=900, dur=2) | host
        events += [own, kernel(correlation=50 + rank, device=rank) | {"ts": 920, "pid": rank}]
    trace = load_events(events, tmp_path)
    rows = np.flatnonzero(trace.events.device_work())
    assert trace.links.launch[rows].tolist() == (rows - 1).tolist()


def alike_ranks(skew: int) -> list[dict[str, Any]]:
    """Two ranks with the same correlations, one behind the other."""
    events: list[dict[str, Any]] = []
    for rank in (0, 1):
        for number in range(1, 6):
            at = 100 * number + skew * rank
            events.append(call(correlation=number, ts=at, dur=2) | {"pid": 100 + rank, "tid": 100 + rank})
            events.append(kernel(correlation=number, device=rank) | {"ts": at + 20, "pid": rank})
    return events


@pytest.mark.parametrize("skew", [0, 1, 15, 60, 1000])
def test_ranks_one_behind_the_other_are_told_apart_by_their_place(skew: int, tmp_path: Path) -> None:
    trace = load_events(alike_ranks(skew), tmp_path)
    rows = np.flatnonzero(trace.events.device_work())
    assert trace.links.launch[rows].tolist() == (rows - 1).tolist()


@pytest.mark.parametrize("skew", [0, 1, 15, 60])
@pytest.mark.parametrize("order", ["ts", "pid"])
def test_ranks_with_all_correlations_alike_are_not_mixed_up(order: str, skew: int, tmp_path: Path) -> None:
    events = sorted(alike_ranks(skew), key=lambda event: (event[order], event["ts"]))
    assert launches(load_events(events, tmp_path)) == [ABSENT] * 10
