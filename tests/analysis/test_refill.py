"""Credit of waits, against spending it one ns at a time; and which calls wait."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import TraceBuilder
from tracelens.analysis.refill import spent_credit
from tracelens.analysis.waits import blocking_waits, necessary_waits

PIECE = st.tuples(st.integers(0, 4), st.integers(1, 6), st.booleans(), st.none() | st.integers(0, 9))
"""Pause before, length, whether it uses up credit, and the credit granted at its start, if any."""


@given(st.lists(PIECE, max_size=12))
def test_credit_is_spent_in_order_of_time(pieces: list[tuple[int, int, bool, int | None]]) -> None:
    bounds = list(
        itertools.accumulate(itertools.chain.from_iterable((pause, length) for pause, length, _, _ in pieces))
    )
    start, end = np.array(bounds[::2], dtype=np.int64), np.array(bounds[1::2], dtype=np.int64)
    spends = np.array([spend for _, _, spend, _ in pieces], dtype=np.int64)
    granted = np.array([i for i, piece in enumerate(pieces) if piece[3] is not None], dtype=np.int64)
    credit = np.array([piece[3] for piece in pieces if piece[3] is not None], dtype=np.int64)
    assert spent_credit(start, end, spends, start[granted], credit).tolist() == spent_slowly(pieces)


def spent_slowly(pieces: list[tuple[int, int, bool, int | None]]) -> list[int]:
    left, spent = 0, []
    for _, length, spends, granted in pieces:
        left = left if granted is None else granted
        spent.append(min(left, length) if spends else 0)
        left -= spent[-1]
    return spent


@pytest.mark.parametrize("vendor", ["cuda", "hip", "xpu"])
def test_synchronisations_and_copies_that_return_late_wait(vendor: str) -> None:
    builder = TraceBuilder(vendor).launch("gemm", 0).launch_graph(10, 5, [("node", 20, 5)])
    pageable = "HtoD (Pageable -> Device)"
    builder.copy(30, 5, at=32, runs=20, kind=pageable).copy(60, 30, at=65, runs=25, kind=pageable)
    builder.sync(100, 5, "stream").sync(110, 5, "event")
    trace = builder.memset(120, 20, at=125, runs=5).malloc(150, 5).trace()
    assert trace.events.start[blocking_waits(trace)].tolist() == [60_000, 100_000, 110_000]
    assert (necessary_waits(trace) == blocking_waits(trace)).all()


@pytest.mark.parametrize("kind", ["DtoD (Device -> Device)", "HtoD (Pinned -> Device)", "DtoH (Device -> Pinned)"])
def test_an_asynchronous_copy_that_returns_late_is_no_necessary_wait(kind: str) -> None:
    trace = TraceBuilder().launch("gemm", 0).copy(60, 30, at=65, runs=5, kind=kind).trace()
    assert blocking_waits(trace).sum() == 1
    assert not necessary_waits(trace).any()


@pytest.mark.parametrize(("call", "waits"), [("hipMemcpyWithStream", True), ("hipMemcpyAsync", False)])
def test_rocm_calls_a_copy_to_the_host_one_within_the_device(call: str, *, waits: bool) -> None:
    builder = TraceBuilder("hip").launch("gemm", 0)
    trace = builder.copy(60, 30, at=65, runs=5, kind="DtoD (Device -> Device)", call=call).trace()
    assert blocking_waits(trace).sum() == 1
    assert necessary_waits(trace).sum() == waits


def test_a_copy_without_a_device_event_is_no_wait() -> None:
    trace = TraceBuilder().call("cudaMemcpyAsync", 0, 50).trace()
    assert not blocking_waits(trace).any()
