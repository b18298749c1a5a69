from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.analysis.parts import Part
from tracelens.analysis.results import Timeline
from tracelens.analysis.tables.syncs import sync_costs
from tracelens.model.events import ABSENT

HOSTED = [part for part in Part if part.class_name in ("sync", "dispatch", "launch")]
pieces = st.lists(st.tuples(st.sampled_from(list(Part)), st.integers(1, 40)), min_size=1, max_size=30)
waits = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 80)), max_size=12)


def timeline(given: list[tuple[Part, int]]) -> Timeline:
    """Pieces of the given parts and lengths from 0 on; all that are not busy belong to one gap."""
    end = np.cumsum([length for _, length in given])
    part = np.array([part for part, _ in given], dtype=np.uint8)
    gap = np.where([part.class_name == "kernel" for part, _ in given], ABSENT, 0).astype(np.int32)
    return Timeline(0, np.append(0, end[:-1]), end, part, gap)


def sorted_waits(found: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    spans = np.array(sorted((start, start + length) for start, length in found), dtype=np.int64).reshape(-1, 2)
    return spans[:, 0], spans[:, 1]


@given(pieces, waits)
def test_costs_stay_within_what_there_is_to_save(
    given_pieces: list[tuple[Part, int]], found: list[tuple[int, int]]
) -> None:
    line = timeline(given_pieces)
    start, end = sorted_waits(found)
    tiles = np.array([[0, line.end[-1]]])
    costs = sync_costs(line, tiles, start, end, np.ones(len(start), dtype=np.bool_))
    idle = sum(length for part, length in given_pieces if part in HOSTED)
    synced = sum(length for part, length in given_pieces if part.class_name == "sync")
    assert (costs.low >= 0).all()
    assert (costs.high >= costs.low).all()
    assert (costs.busy <= end - start).all()
    assert costs.low.sum() <= synced
    assert costs.high.sum() <= idle + synced


@given(pieces, waits)
def test_a_window_adds_up_from_its_tiles(given_pieces: list[tuple[Part, int]], found: list[tuple[int, int]]) -> None:
    line = timeline(given_pieces)
    start, end = sorted_waits(found)
    every = np.ones(len(start), dtype=np.bool_)
    last, middle = int(line.end[-1]), int(line.end[-1]) // 2
    whole = sync_costs(line, np.array([[0, last]]), start, end, every).low
    halves = [sync_costs(line, np.array([tile]), start, end, every).low for tile in ([0, middle], [middle, last])]
    assert (whole == halves[0] + halves[1]).all()
