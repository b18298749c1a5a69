"""What work of several streams takes longer side by side."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.advice.story import Beat, Clock, analysis, fork, gemm, pointwise
from tests.build import TraceBuilder
from tracelens.advice import constants as C
from tracelens.advice.device import beside
from tracelens.advice.device.facts import Facts, find_facts
from tracelens.advice.device.schedule import Span
from tracelens.advice.forms.replay import predict_replay
from tracelens.advice.step.region import find_region

SMS = 132
US = 1_000
ALONE = 512
"""Registers with which one block fills a multiprocessor."""


def facts_of(*beats: Beat) -> Facts:
    region = find_region(analysis(*beats))
    assert region is not None
    return find_facts(region)


def span_of(*beats: Beat) -> Span:
    return facts_of(*beats).span(C.NODE_SPACING)


def later(*beats: Beat) -> float:
    """By how much longer than its path the work takes."""
    return facts_of(*beats).beside


def chain(blocks: int, *, stream: int, registers: int = 32, count: int = 10) -> list[Beat]:
    """Kernels of 30 us, launched so slowly that none runs beside another in the trace."""
    return [gemm(30, stream=stream, grid=[blocks, 1, 1], registers=registers, host=80) for _ in range(count)]


def branches(blocks: int, *, streams: int = 2, registers: int = 32) -> list[Beat]:
    """As many chains side by side, forked from a small kernel and joined by another."""
    side = range(13, 13 + streams)
    work = [beat for stream in side for beat in (*fork(), *chain(blocks, stream=stream, registers=registers))]
    return [pointwise(5, grid=[1, 1, 1]), *work, *fork(), pointwise(5, grid=[1, 1, 1], host=80)]


def test_work_of_one_stream_takes_no_longer() -> None:
    assert later(*chain(SMS, stream=7)) == 0


def test_kernels_that_leave_each_other_multiprocessors_only_begin_in_turn() -> None:
    assert later(*branches(SMS // 2)) < 10 * 3 * C.NODE_SPACING + 2 * C.HAND_OVER
    assert later(*branches(SMS // 2 + 20, registers=128)) > 10 * 3 * C.NODE_SPACING + 2 * C.HAND_OVER


def test_kernels_that_compute_take_their_multiprocessors_but_for_their_start() -> None:
    working = 30 * US - C.COMPUTE_START
    assert later(*branches(SMS, registers=128)) == pytest.approx(10 * C.COMPUTES * working, rel=0.02)


def test_what_is_taken_of_multiprocessors_slows_more_than_that_they_are_held() -> None:
    large = chain(100, stream=13, registers=ALONE)
    light, like = (chain(100, stream=17, registers=registers) for registers in (32, ALONE))
    beside_light, beside_like = (later(pointwise(1), *fork(), *large, *fork(), *other) for other in (light, like))
    assert 0.5 * beside_like < beside_light < (1 - C.OWN_PLACES) * beside_like


@pytest.mark.parametrize(("blocks", "streams"), [(96, 3), (96, 6), (72, 5)])
def test_kernels_that_share_no_multiprocessor_take_turns(blocks: int, streams: int) -> None:
    turns = streams * blocks / SMS - 1
    assert later(*branches(blocks, streams=streams, registers=ALONE)) == pytest.approx(10 * 30 * US * turns, rel=0.05)


def test_a_small_kernel_waits_for_one_that_holds_every_multiprocessor() -> None:
    large, small = (chain(blocks, stream=stream, registers=ALONE) for blocks, stream in ((SMS, 13), (SMS // 4, 17)))
    both = later(pointwise(1), *fork(), *large[:8], *fork(), *small)
    assert both == pytest.approx(8 * 30 * US / 2, rel=0.1)


def test_kernels_that_wait_for_memory_take_half_of_their_places() -> None:
    four_of_sixteen = later(*branches(4 * SMS))
    assert four_of_sixteen == pytest.approx(10 * 30 * US * 0.25 / 2, rel=0.05)


def test_kernels_that_fill_the_device_gain_nothing() -> None:
    span = span_of(*branches(100_000))
    assert span.expected == pytest.approx(span.most, rel=0.01)


def test_the_more_streams_the_longer() -> None:
    two, four = (later(*branches(SMS, registers=128, streams=streams)) for streams in (2, 4))
    assert four == pytest.approx(3 * two, rel=0.05)


def test_a_small_kernel_slows_no_large_one() -> None:
    large = chain(8 * SMS, stream=13, registers=64)
    assert later(*large, *chain(1, stream=17, count=5)) < 0.02 * 300 * US


def test_memsets_take_turns() -> None:
    def memsets(stream: int) -> list[Beat]:
        def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
            del step
            trace.memset(clock.host, 5, at=clock.host + 10, runs=1, stream=stream)
            clock.host += 20
            clock.streams[stream] = clock.host

        return [tell] * 10

    side_by_side = later(pointwise(1), *fork(), *memsets(13), *fork(), *memsets(17))
    assert side_by_side == pytest.approx(10 * (1 * US + C.MEMSET_SPACING), rel=0.1)


def copies(way: str, *, stream: int, bytes: int = 4096, runs: float = 30) -> list[Beat]:
    """Ten copies, launched so slowly that none runs beside another in the trace."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.drained, clock.host) + 10
        trace.copy(clock.host, 5, at=starts, runs=runs, kind=way, bytes=bytes, stream=stream)
        clock.streams[stream] = starts + runs
        clock.host += 80

    return [tell] * 10


@pytest.mark.parametrize(
    ("other", "share"), [("HtoD (Pinned -> Device)", 1.0), ("DtoH (Device -> Pinned)", 0.0)], ids=["same way", "back"]
)
def test_copies_of_the_host_take_turns_with_those_of_their_way(other: str, share: float) -> None:
    there, beside_it = copies("HtoD (Pinned -> Device)", stream=13), copies(other, stream=17)
    both = later(pointwise(1), *fork(), *there, *fork(), *beside_it)
    assert both == pytest.approx(share * 10 * 30 * US, abs=0.05 * 10 * 30 * US)


def test_copies_within_the_device_share_its_bandwidth() -> None:
    size = int(30 * US * C.ACHIEVABLE * C.PEAK_BANDWIDTH["H200"] / 2)
    within = [copies("DtoD (Device -> Device)", stream=stream, bytes=size) for stream in (13, 17)]
    both = later(pointwise(1), *fork(), *within[0], *fork(), *within[1])
    assert both == pytest.approx(10 * 30 * US, rel=0.1)


def test_handing_over_to_a_copy_engine_and_back_takes_longer() -> None:
    def rounds(side: list[Beat]) -> float:
        turns = (beat for one in side[:5] for beat in (*fork(), one, *fork(), pointwise(30, host=80)))
        return later(pointwise(30, host=80), *turns)

    kernels, copied = (rounds(side) for side in (chain(1, stream=17), copies("HtoD (Pinned -> Device)", stream=17)))
    assert copied - kernels == pytest.approx(10 * C.COPY_HAND_OVER, rel=0.1)


def test_the_device_begins_one_node_at_a_time() -> None:
    tiny = [pointwise(0.3, stream=stream, grid=[1, 1, 1]) for _ in range(20) for stream in range(13, 29)]
    assert span_of(pointwise(0.3), *tiny).expected > 16 * 20 * C.NODE_SPACING


@pytest.mark.parametrize(("nodes", "handed"), [(1, 1), (5, 5), (40, C.HANDED)])
def test_a_stream_that_begins_by_itself_begins_as_the_nodes_before_are_handed_over(nodes: int, handed: int) -> None:
    before, last = chain(1, stream=13, count=nodes), gemm(60 * nodes, stream=17, grid=[1, 1, 1])
    begun_beside = nodes * C.NODE_SPACING
    assert later(*before, last) == pytest.approx(C.FORK + C.NODE_SPACING * handed + begun_beside, abs=0.05 * US)


def test_a_replay_s_range_reaches_part_of_the_way_to_streams_that_overlap_freely_or_not_at_all() -> None:
    facts = facts_of(*branches(4 * SMS))
    span, replay = facts.span(C.NODE_SPACING), predict_replay(facts)
    least, most = C.DEVICE_SPREAD
    assert replay.low == pytest.approx(least * (0.8 * span.expected + 0.2 * span.least), rel=0.03)
    assert replay.high == pytest.approx(most * (0.8 * span.expected + 0.2 * span.most), rel=0.03)


def test_the_first_pieces_of_a_long_step_tell_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [
        beat
        for _ in range(10)
        for stream in (13, 17)
        for beat in (*fork(), *chain(SMS, stream=stream, registers=128, count=1))
    ]
    whole = later(pointwise(5), *layers)
    monkeypatch.setattr(beside, "MOST", 11)
    assert later(pointwise(5), *layers) == pytest.approx(whole, rel=0.1)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([7, 13, 17]), st.integers(1, 40), st.integers(1, 3_000), st.sampled_from([32, 128])),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 3),
)
def test_any_work_takes_between_its_path_and_its_sum(work: list[tuple[int, int, int, int]], forks: int) -> None:
    beats: list[Beat] = []
    for place, (stream, runs, blocks, registers) in enumerate(work):
        beats += fork() if place % (forks + 1) == forks else ()
        beats.append(gemm(runs, stream=stream, grid=[blocks, 1, 1], registers=registers))
    span = span_of(*beats)
    assert span.least <= span.expected <= span.most


def test_work_of_an_hour_is_played_to_its_end() -> None:
    assert later(*[pointwise(3.3e9, stream=7 + piece % 3) for piece in range(30)]) >= 0.0
