"""What holds at an instant, against a look at every event."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.model.nesting import enclosing
from tracelens.model.segments import Edges, Segments, by_rank

NOTHING = 255
EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), max_size=14)
"""Events as (thread, start, duration): nested, overlapping, empty and equal ones."""
EVERYWHERE = [(thread, time) for thread in range(3) for time in range(45)]


def columns(events: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(events, dtype=np.int64).reshape(-1, 3)
    return table[:, 0].astype(np.int32), table[:, 1], table[:, 1] + table[:, 2]


def innermost(events: list[tuple[int, int, int]]) -> Segments:
    group, start, end = columns(events)
    return Edges.of(group, start, end).innermost(enclosing(group, start, end))


def open_events(events: list[tuple[int, int, int]], thread: int, time: int) -> list[int]:
    return [i for i, (on, start, length) in enumerate(events) if on == thread and start <= time < start + length]


def last_begun(events: list[tuple[int, int, int]], candidates: list[int]) -> int:
    """The innermost: begun last; of those begun together the shortest; of equal ones the one given last."""
    return max(candidates, key=lambda i: (events[i][1], -events[i][2], i), default=-1)


@given(EVENTS)
def test_innermost_is_the_event_begun_last_that_is_still_open(events: list[tuple[int, int, int]]) -> None:
    segments = innermost(events)
    threads, times = np.array(EVERYWHERE).T
    found = segments.at(threads, times, -1).tolist()
    assert found == [last_begun(events, open_events(events, thread, time)) for thread, time in EVERYWHERE]


@given(EVENTS, st.data())
def test_edges_among_some_events_are_theirs(events: list[tuple[int, int, int]], data: st.DataObject) -> None:
    chosen = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events))))
    group, start, end = columns(events)
    parent = enclosing(group[chosen], start[chosen], end[chosen])
    some = Edges.of(group, start, end).among(chosen).innermost(parent)
    alone = innermost([events[i] for i in chosen])
    threads, times = np.array(EVERYWHERE).T
    assert some.at(threads, times, -1).tolist() == alone.at(threads, times, -1).tolist()


@given(EVENTS, st.data())
def test_by_rank_is_the_lowest_rank_open(events: list[tuple[int, int, int]], data: st.DataObject) -> None:
    ranks = data.draw(st.lists(st.integers(0, 4), min_size=len(events), max_size=len(events)))
    segments = by_rank(*columns(events), np.array(ranks, dtype=np.uint8))
    threads, times = np.array(EVERYWHERE).T
    expected = [
        min((ranks[i] for i in open_events(events, thread, time)), default=NOTHING) for thread, time in EVERYWHERE
    ]
    assert segments.at(threads, times, NOTHING).tolist() == expected


@given(EVENTS)
def test_what_holds_changes_only_at_edges(events: list[tuple[int, int, int]]) -> None:
    segments = innermost(events)
    edges = set(segments.edges().tolist())
    for thread in range(3):
        held = segments.at(np.full(45, thread), np.arange(45), -1)
        changes = 1 + np.flatnonzero(held[1:] != held[:-1])
        assert set(changes.tolist()) <= edges


@given(EVENTS)
def test_joined_segments_hold_the_same_and_neighbours_differ(events: list[tuple[int, int, int]]) -> None:
    group, start, end = columns(events)
    segments = by_rank(group, start, end, (np.arange(len(events)) % 2).astype(np.uint8))
    joined = segments.joined()
    threads, times = np.array(EVERYWHERE).T
    assert joined.at(threads, times, NOTHING).tolist() == segments.at(threads, times, NOTHING).tolist()
    assert not ((joined.start[1:] == joined.end[:-1]) & (joined.value[1:] == joined.value[:-1])).any()


@given(EVENTS, st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 50), st.integers(0, 20)), max_size=8))
def test_what_is_held_within_intervals(events: list[tuple[int, int, int]], asked: list[tuple[int, int, int]]) -> None:
    segments = innermost(events)
    interval, segment, held = segments.within(*columns(asked))
    found = {(i, int(v)): 0 for i, v in zip(interval.tolist(), segments.value[segment], strict=True)}
    for i, v, ns in zip(interval.tolist(), segments.value[segment].tolist(), held.tolist(), strict=True):
        found[i, v] += ns
    expected: dict[tuple[int, int], int] = {}
    for i, (on, begin, length) in enumerate(asked):
        for time in range(begin, begin + length):
            holder = last_begun(events, open_events(events, on, time))
            if holder >= 0:
                expected[i, holder] = expected.get((i, holder), 0) + 1
    assert found == expected
