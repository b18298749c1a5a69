"""Correlations, External ids and arrows, however tools write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loading.traces import call, columns_of, event, kernel, launches, load_events
from tracelens.loading.reread import event_args
from tracelens.model.events import ABSENT, Category

pytestmark = pytest.mark.usefixtures("either_scan")


@pytest.mark.parametrize("written", ["0x1f", "0X1F", "31", 31.0, -2147483617])
def test_calls_and_work_are_linked_by_correlations_however_they_are_written(written: object, tmp_path: Path) -> None:
    """Of 32 bits printed as signed, -2147483617 is 2147483679."""
    given = {"correlation": written}
    trace = load_events([call(args=given), kernel() | {"args": {"device": 0, "stream": 7, **given}}], tmp_path)
    assert launches(trace) == [0]
    assert trace.repairs == ()
    assert trace.events.correlation.tolist()[0] == (31 if not str(written).startswith("-") else 2147483679)


def test_arrows_without_an_end_or_a_beginning_change_nothing(tmp_path: Path) -> None:
    flow = {"cat": "ac2g", "name": "ac2g", "pid": 7, "tid": 8, "ts": 10}
    arrows = [
        *({**flow, "ph": "f", "bp": "e", "id": n} for n in (5, 90, 91)),
        {**flow, "ph": "s", "id": 92},
        {**flow, "ph": "f", "cat": "fwdbwd", "id": 2**40 + 3},
    ]
    trace = load_events([call(), kernel(), *arrows], tmp_path)
    assert launches(trace) == [0]
    assert columns_of(trace)["flow_id"] == [(2, 5), (3, 90), (4, 91), (5, 92), (6, 2**40 + 3)]
    assert trace.events.category[2:].tolist() == [Category.FLOW] * 5
    assert trace.repairs == ()


@pytest.mark.parametrize("cat", ["async", "async_cpu_to_gpu", "async_gpu", "ac2g", "fwdbwd", "forward_backward"])
def test_arrows_have_had_many_names(cat: str, tmp_path: Path) -> None:
    trace = load_events([event(ph=phase, cat=cat, id=3) for phase in "sf"], tmp_path)
    assert trace.events.category.tolist() == [Category.FLOW] * 2


def test_an_external_id_given_twice_means_the_operator_around_the_call(tmp_path: Path) -> None:
    operators = [event(name, ts, 8, args={"External id": 4}) for name, ts in (("first", 0), ("second", 10))]
    submits = call(ts=12, dur=2, args={"correlation": 5, "External id": 4})
    trace = load_events([*operators, submits, kernel(**{"External id": 4})], tmp_path)
    assert trace.links.operator.tolist()[2:] == [1, 1]


def test_external_id_and_correlation_are_two_numbers(tmp_path: Path) -> None:
    operators = [event("wrong", 0, 3, args={"External id": 5}), event("right", 9, 8, args={"External id": 6})]
    trace = load_events([*operators, call(args={"correlation": 5, "External id": 6}), kernel()], tmp_path)
    assert trace.links.operator.tolist()[2:] == [1, 1]


def test_nodes_of_a_replayed_graph(tmp_path: Path) -> None:
    nodes = [kernel(f"n{n}", 5, **{"graph id": 2, "graph node id": 2**40 + n, "priority": 0}) for n in range(3)]
    trace = load_events([call("cudaGraphLaunch"), *nodes], tmp_path)
    columns = columns_of(trace)
    assert launches(trace) == [0, 0, 0]
    assert columns["graph_node_id"] == [(1, 2**40), (2, 2**40 + 1), (3, 2**40 + 2)]
    assert trace.links.operator.tolist() == [ABSENT] * 4
    assert event_args(trace, 1)["priority"] == 0


def test_a_correlation_of_zero_or_none_links_nothing(tmp_path: Path) -> None:
    bare = event("bare", 30, 5, cat="kernel", pid=0, tid=7, args={"device": 0, "stream": 7})
    trace = load_events([call(correlation=0), kernel(correlation=0), bare], tmp_path)
    assert launches(trace) == [ABSENT, ABSENT]
