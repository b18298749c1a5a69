"""When device work runs: overlap of streams is kept, and the slower of host and device sets the pace."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from tests.advice.cases.beats import loader, pause
from tests.advice.story import Beat, Clock, analysis, call, fork, gemm, item, op, pointwise, told
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.device.facts import Facts, find_facts
from tracelens.advice.device.schedule import eager_period, graph_spacing
from tracelens.advice.estimate import Estimate
from tracelens.advice.forms.eager import predict_eager
from tracelens.advice.forms.host_time import host_scale, replay_floor
from tracelens.advice.forms.inputs import input_copies, tree_copies
from tracelens.advice.forms.replay import predict_replay
from tracelens.advice.step.region import Region, find_region
from tracelens.advice.terms import DEVICE, HOST
from tracelens.analysis import analyze
from tracelens.model.events import ABSENT

SMALL = [4, 1, 1]


def facts_of(*beats: Beat) -> Facts:
    region = find_region(analysis(*beats))
    assert region is not None
    return find_facts(region)


def region_of(*beats: Beat) -> Region:
    return facts_of(*beats).region


def branches(grid: list[int], host: float = 20) -> list[Beat]:
    """Two branches of 10 kernels of 30 us on streams 7 and 13, joined by one; a launch takes `host` us."""
    side = [gemm(30, stream=13, grid=grid, host=host) for _ in range(10)]
    home = [gemm(30, stream=7, grid=grid, host=host) for _ in range(10)]
    return [pointwise(30, grid=grid), *fork(), *side, *home, *fork(), pointwise(30, grid=grid)]


def test_one_stream_takes_the_sum_and_a_spacing_each() -> None:
    span = facts_of(*[gemm(30)] * 10).span(1_000)
    assert span.expected == span.least == span.most == pytest.approx(310_000)


def test_small_kernels_on_two_streams_overlap() -> None:
    span = facts_of(*branches(SMALL)).span(0)
    assert span.least == pytest.approx(360_000)
    assert span.most == pytest.approx(660_000)
    assert span.least <= span.expected < 0.7 * span.most


def test_kernels_that_the_trace_shows_side_by_side_stay_so() -> None:
    seen, apart = (facts_of(*branches([100_000, 1, 1], host)).span(0) for host in (20, 40))
    assert seen.least < seen.expected < 0.9 * apart.expected


def test_a_block_alone_on_a_multiprocessor_takes_more_than_its_place() -> None:
    facts = facts_of(gemm(30, grid=[132, 1, 1]), gemm(30, grid=[33, 1, 1]), gemm(30, grid=[132 * 16, 1, 1]))
    assert facts.share.tolist() == pytest.approx([1 / 4, 1 / 16, 1])


def test_what_nothing_runs_beside_takes_its_time_in_full_before_work_that_shares_the_device() -> None:
    def serial(count: int) -> list[Beat]:
        return [gemm(30, grid=SMALL, host=100) for _ in range(count)]

    full = branches([100_000, 1, 1], host=40)
    short, long = (facts_of(*serial(count), *full).span(0) for count in (1, 11))
    assert long.expected - short.expected == pytest.approx(300_000)


def test_streams_forked_from_one_without_work_do_not_wait_for_each_other() -> None:
    first, second = gemm(30, stream=13, grid=SMALL, host=100), gemm(50, stream=17, grid=SMALL, host=100)
    assert facts_of(*fork(), first, *fork(), second).span(0).least == pytest.approx(50_000)
    assert facts_of(first, *fork(), second).span(0).least == pytest.approx(80_000)


def spacing(*beats: Beat) -> float:
    """Of a graph's last node."""
    facts = facts_of(*beats)
    return float(graph_spacing(facts.region, facts.operators)[-1])


def test_nodes_after_short_work_wait_for_memory_where_the_weights_fill_the_cache() -> None:
    assert spacing(*[gemm(3, 1024)] * 10) == C.NODE_SPACING
    assert spacing(*[gemm(3, 1024)] * 20) == C.COLD_NODE_SPACING
    assert spacing(*[gemm(30, 1024)] * 20) == C.NODE_SPACING


def test_rows_gathered_of_tables_fill_the_cache_like_weights() -> None:
    def gathered(rows: int) -> Beat:
        return op("aten::embedding", 3, shapes=[[1 << 20, 1024], [rows]], dtypes=["float", "long int"])

    assert spacing(*[gathered(16), pointwise(3)] * 4) == C.NODE_SPACING
    assert spacing(*[gathered(4096), pointwise(3)] * 4) == C.COLD_NODE_SPACING


def test_training_keeps_what_its_layers_make_and_inference_gives_it_back() -> None:
    engine = op("autograd::engine::evaluate_function: AddBackward0", 2, kernel="elementwise_kernel")
    few, many = ([pointwise(3, size=1 << 20)] * layers for layers in (20, 40))
    assert spacing(*many) == spacing(engine, *few) == C.NODE_SPACING
    assert spacing(engine, *many) == C.COLD_NODE_SPACING


def test_replays_range_reaches_half_way_to_a_graph_that_leaves_the_cache() -> None:
    few, many = (predict_replay(facts_of(*[pointwise(3)] * layers)) for layers in (100, 200))
    half = (C.NODE_SPACING + C.COLD_NODE_SPACING) / 2
    assert (many.mid - few.mid) / 100 == pytest.approx(3_000 + C.NODE_SPACING)
    assert (many.high - few.high) / 100 == pytest.approx(C.DEVICE_SPREAD[1] * (3_000 + half))
    assert (many.low - few.low) / 100 == pytest.approx(C.DEVICE_SPREAD[0] * (3_000 + C.NODE_SPACING))


def test_replay_of_forked_streams_keeps_their_overlap() -> None:
    parallel, serial = (
        predict_replay(facts_of(*branches(SMALL))),
        predict_replay(facts_of(*[gemm(30, grid=SMALL)] * 22)),
    )
    assert parallel.mid < 0.75 * serial.mid


def test_a_join_waits_for_the_other_streams() -> None:
    side = gemm(200, stream=13, grid=SMALL)
    late, early = pointwise(5, grid=SMALL, host=400), pointwise(5, grid=SMALL)
    assert facts_of(early, *fork(), side, *fork(), late).span(0).least == pytest.approx(210_000)


def test_an_edge_that_the_trace_refutes_is_dropped() -> None:
    side, early = gemm(200, stream=13, grid=SMALL), pointwise(5, grid=SMALL)
    assert facts_of(early, *fork(), side, *fork(), early).span(0).least == pytest.approx(205_000)


def test_work_without_edges_between_streams_runs_at_once() -> None:
    apart = [gemm(200, stream=13, grid=SMALL), gemm(200, stream=7, grid=SMALL)]
    assert facts_of(*apart).span(0).least == pytest.approx(200_000, rel=0.01)


def test_a_device_bound_step_takes_its_device_time_at_any_host_speed() -> None:
    region = region_of(*[gemm(500)] * 10)
    slow, fast = (eager_period(region, 1.0, scale, 1.0) for scale in (1.0, 0.3))
    assert slow == pytest.approx(fast)
    assert slow == pytest.approx(5_000_000, rel=0.01)


def test_a_host_bound_step_takes_its_host_time() -> None:
    region = region_of(*[pointwise(1)] * 100)
    assert eager_period(region, 1.0, 0.5, 1.0) == pytest.approx(0.5 * region.host, rel=0.01)


def test_waits_add_the_drained_queue_to_the_step() -> None:
    plain, waiting = region_of(*[gemm(100)] * 8), region_of(*[gemm(100), item()] * 8)
    assert eager_period(waiting, 1.0, 0.5, 1.0) > eager_period(plain, 1.0, 0.5, 1.0)
    assert eager_period(waiting, 1.0, 0.5, 1.0) >= 8 * 100_000


def test_the_host_of_a_slow_machine_is_scaled_down_more() -> None:
    region = region_of(*[pointwise(1)] * 20)
    assert region.call == pytest.approx(5_200)
    assert host_scale(region).low < host_scale(region).mid < 1 < host_scale(region).high / 0.585


@pytest.mark.parametrize("beat", [pause(20_000), loader(20_000)])
def test_work_outside_pytorch_takes_as_long_without_the_profiler(beat: Beat) -> None:
    found = facts_of(*[pointwise(1)] * 20, item(), beat)
    plain = predict_eager(facts_of(*[pointwise(1)] * 20, item())).mid
    assert predict_eager(found).mid == pytest.approx(20_000_000 + plain, rel=0.01)
    assert predict_replay(found).low < 15_000_000 < 20_000_000 < predict_replay(found).mid


@pytest.mark.parametrize("beat", [pause(30_000), loader(30_000)])
def test_work_outside_hides_behind_what_is_queued_since_the_last_wait(beat: Beat) -> None:
    queue = [gemm(4_000)] * 5
    told = (advise(analysis(*beats, beat)).forms for beats in (queue, (item(), *queue), (*queue, item())))
    free, ahead, behind = ([form[name].step_ms or 0.0 for name in ("compile", "both")] for form in told)
    assert ahead == pytest.approx(free, rel=0.01), "a wait before all launches keeps nothing from hiding"
    assert 23 < min(ahead) <= max(ahead) < 30, "the device works while the host loads"
    assert min(behind) > 50, "the device idles while the host loads"


def test_as_many_waits_as_records_are_for_them_in_turn() -> None:
    record, wait = call("cudaEventRecord", 1), call("cudaStreamWaitEvent", 1)
    made = [beat for _ in range(3) for beat in (pointwise(50, stream=13), record)]
    used = [beat for _ in range(3) for beat in (wait, pointwise(50))]
    assert region_of(*made, *used).source.tolist() == [ABSENT] * 3 + [0, 1, 2]
    assert region_of(*made, *used[2:]).source.tolist() == [ABSENT] * 4 + [2]


def test_recording_many_operators_takes_more_of_the_hosts_time() -> None:
    few, many = region_of(*[pointwise(1)] * 20), region_of(*[pointwise(1, host=8)] * 50)
    assert many.operators / many.host > 2 * few.operators / few.host
    assert host_scale(many).mid < 0.95 * host_scale(few).mid


def test_a_product_copies_its_dense_matrix_or_the_smaller_of_two() -> None:
    def copies(kernel: str) -> float:
        shapes: dict[str, Any] = {"shapes": [[64, 4096], [4096, 4096]], "dtypes": ["float", "float"]}
        return input_copies(region_of(op("aten::mm", 50, kernel=kernel, **shapes)), 4_000.0).mid

    assert copies("cusparse::csrmm_alg2_kernel") == pytest.approx(C.INPUT_COPY + 2 * 4096 * 4096 * 4 / 4_000)
    assert copies("nvjet_sm90_gemm") == pytest.approx(C.INPUT_COPY + 2 * 64 * 4096 * 4 / 4_000)


def test_inputs_of_unknown_size_may_take_as_long_as_what_reads_them() -> None:
    known, unknown = region_of(gemm(50, size=64)), region_of(op("triton_poi_fused_add_0", 50), gemm(10))
    assert input_copies(known, 4_000.0).high < 5_000
    assert input_copies(unknown, 4_000.0).high > 50_000
    assert tree_copies(unknown, 4_000.0).high > 50_000
    assert input_copies(unknown, 4_000.0).mid == C.INPUT_COPY


def test_a_slow_recording_does_not_prove_a_slow_replay() -> None:
    slow = predict_replay(facts_of(*[pointwise(1, host=200)] * 8))
    assert slow.mid == pytest.approx(C.REPLAY_FLOOR[1])
    assert slow.low == pytest.approx(0.8 * C.REPLAY_FLOOR[0])


def test_the_host_copies_every_input_before_a_replay() -> None:
    home = gemm(300, size=64, grid=SMALL, host=200)
    side = op("aten::mean", 9, stream=13, shapes=[[64]], dtypes=["float"], grid=SMALL, host=200)
    assert replay_floor(region_of(home)) == C.REPLAY_FLOOR[1]
    assert replay_floor(region_of(home, side)) == C.REPLAY_FLOOR[1] + C.INPUT_LAUNCH


def test_a_graph_of_short_branches_takes_the_launch_of_each_node() -> None:
    def replayed(branches: int) -> Estimate:
        return predict_replay(facts_of(*[pointwise(0.5, stream=7 + at % branches, grid=SMALL) for at in range(400)]))

    chain, branched = replayed(1), replayed(8)
    assert chain.terms.decided_by == DEVICE
    assert branched.terms.decided_by == HOST
    assert branched.mid == pytest.approx(400 * C.BRANCHED_NODE, abs=C.REPLAY_FLOOR[1])


def test_a_host_of_slow_launch_calls_launches_the_nodes_of_branches_slowly() -> None:
    region = region_of(*[pointwise(0.5, stream=7 + at % 8, grid=SMALL, host=200) for at in range(400)])
    usual, slow = replace(region, call=C.REFERENCE_CALL), replace(region, call=1.5 * C.REFERENCE_CALL)
    assert replay_floor(slow) == replay_floor(usual)
    nodes = (replay_floor(host, 400) - replay_floor(host) for host in (usual, slow))
    assert tuple(nodes) == pytest.approx((400 * C.BRANCHED_NODE, 400 * C.BRANCHED_NODE * 1.5**C.GAUGE_POWER))


def test_a_second_stream_that_waits_for_nothing_has_inputs_of_its_own() -> None:
    def beside(size: int) -> Region:
        own = op("aten::mean", 200, stream=13, shapes=[[size]], dtypes=["float"], grid=SMALL)
        return region_of(gemm(200, grid=SMALL), own)

    small, large = (input_copies(beside(size), 4_000.0).mid for size in (1 << 10, 1 << 26))
    assert large - small == pytest.approx(2 * 4 * ((1 << 26) - (1 << 10)) / 4_000)


def test_heads_that_read_tensors_of_the_same_sizes_read_the_same() -> None:
    def beside(others: list[list[int]]) -> float:
        side = op("aten::abs", 200, stream=13, grid=SMALL, shapes=[[1 << 20], *others], dtypes=["float"] * 2)
        home = op("aten::sqrt", 200, grid=SMALL, shapes=[[1 << 20]], dtypes=["float"])
        return input_copies(region_of(home, side), 4_000.0).mid

    assert beside([[0]]) == pytest.approx(C.INPUT_COPY + 2 * 4 * (1 << 20) / 4_000)
    assert beside([[8]]) == pytest.approx(2 * C.INPUT_COPY + 4 * 4 * (1 << 20) / 4_000)


def test_each_tensor_of_a_list_is_copied_on_its_own() -> None:
    def copies(shapes: list[list[int]]) -> float:
        joined = op("aten::cat", 50, shapes=[shapes, []], dtypes=["TensorList", "Scalar"])
        return input_copies(region_of(joined, gemm(50)), 4_000.0).mid

    assert copies([[1024]] * 16) - copies([[16 * 1024]]) == pytest.approx(15 * C.INPUT_COPY)


def test_the_same_call_on_nothing_but_one_tensor_is_of_another_tensor() -> None:
    def beside(name: str, setting: str) -> float:
        given: dict[str, Any] = {"shapes": [[1 << 20], []], "dtypes": ["float", "Scalar"], "grid": SMALL}
        side, home = (
            op(name, 200, stream=13, concrete=["", setting], **given),
            op("aten::pow", 200, **given, concrete=["", "2"]),
        )
        return input_copies(region_of(home, side), 4_000.0).mid

    once, twice = (count * (C.INPUT_COPY + 2 * 4 * (1 << 20) / 4_000) for count in (1, 2))
    assert beside("aten::pow", "2") == pytest.approx(twice)
    assert beside("aten::pow", "3") == pytest.approx(once)
    assert beside("aten::abs", "2") == pytest.approx(once)


def test_of_a_part_the_whole_is_copied_and_once_for_parts_alike() -> None:
    def view(shape: str) -> Beat:
        def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
            del step
            trace.op(
                "aten::as_strided", clock.host, 2, shapes=[[8, 3, 1 << 18], []], concrete=["", shape, "[786432, 1]"]
            )
            clock.host += 3

        return tell

    def copies(shape: str) -> float:
        add = op("aten::add", 50, shapes=[[8, 1 << 18]] * 2, dtypes=["float"] * 2)
        return input_copies(region_of(view(shape), add, view("[8, 262144]"), gemm(50)), 4_000.0).mid

    assert copies("[8, 262144]") == pytest.approx(C.INPUT_COPY + 2 * 4 * 3 * (1 << 21) / 4_000)
    assert copies("[4, 262144]") == pytest.approx(C.INPUT_COPY + 2 * 4 * 2 * (1 << 21) / 4_000)


def behind(stream: int, other: int) -> Beat:
    """A stream waits for another, of which the trace tells nothing."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del trace, step
        clock.streams[stream] = clock.streams[other]

    return tell


def test_streams_that_were_queued_ahead_overlap_no_more_than_they_did() -> None:
    first, second = ([gemm(30, stream=stream, grid=SMALL, host=1)] * 10 for stream in (7, 13))
    known = facts_of(*first, behind(13, 7), *second, behind(7, 13))
    hurried = replace(known, region=replace(known.region, late=inf))
    assert known.span(0.0).least == pytest.approx(600_000, rel=0.1)
    assert hurried.span(0.0).least == pytest.approx(300_000)
    assert predict_eager(known).mid > 1.5 * predict_eager(hurried).mid


@pytest.mark.parametrize("span", [(0, 480_000), (480_000, 960_000)])
def test_eager_takes_no_less_than_its_busiest_stream_works(span: tuple[int, int]) -> None:
    """The host launches the work of twice the range in it."""
    seen = analyze(told(*[gemm(40)] * 20, *[gemm(20, stream=13)] * 2).trace(), span=span)
    region = find_region(seen)
    assert region is not None
    busiest = region.duration[region.stream == 7].sum() / 1e6
    eager = advise(seen).forms["eager"]
    assert eager.step_ms is not None
    assert eager.step_ms >= busiest > 0.48


def test_a_stream_idles_for_the_host_up_to_a_latency_after_a_launch() -> None:
    gaps, between_steps = 10 * (40 + 1 - 30), 50 + 6
    assert 1_000 * gaps <= region_of(*[gemm(30, host=40)] * 10).late <= 1_000 * (gaps + between_steps)
    assert region_of(*[gemm(90, host=1)] * 10).late == 0


def test_streams_that_idle_at_once_could_give_that_time_back_once() -> None:
    region = region_of(*[gemm(10, stream=stream, host=40) for stream in (7, 13, 17, 21)] * 4)
    assert 0.7 * region.recorded < region.late <= region.recorded


def brought(stream: int, runs: float, kind: str) -> Beat:
    """A copy launched in 50 us, which takes its turn behind those of all streams."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.host + 8, *clock.streams.values(), 0)
        trace.copy(clock.host, 4, at=starts, runs=runs, kind=kind, stream=stream)
        clock.streams[stream] = starts + runs
        clock.host += 50

    return tell


@pytest.mark.parametrize("kind", ["HtoD (Pinned -> Device)", "DtoH (Device -> Pinned)"])
def test_a_copy_that_waits_for_its_turn_is_not_late(kind: str) -> None:
    turns = [brought(stream, 60, kind) for stream in (13, 17, 21, 25, 29, 33, 37, 41)]
    assert region_of(*turns).late < 50_000
    assert region_of(*(brought(stream, 30, kind) for stream in (13, 17, 21, 25))).late > 50_000


def test_times_are_plain_numbers_that_a_document_can_hold() -> None:
    span = facts_of(*branches(SMALL)).span(C.STREAM_SPACING)
    assert {type(span.expected), type(span.least), type(span.most)} == {float}


def test_graphs_of_the_compiler_copy_with_kernels_of_their_own_and_what_a_later_one_reads_again() -> None:
    def copies(*beats: Beat) -> float:
        return tree_copies(region_of(*beats), 4_000.0).mid

    small, large, total = (
        pointwise(50),
        pointwise(50, 1 << 24),
        op("aten::sum", 9, shapes=[[1 << 24]], dtypes=["float"]),
    )
    once = 2 * 2 * 4 * (1 << 24) / (C.TREE_COPY_RATE * 4_000)
    assert copies(small, gemm(50)) == C.TREE_COPY
    assert copies(large, gemm(50)) == pytest.approx(once)
    assert copies(large, total, item(), gemm(50, 64)) == pytest.approx(once)
    assert copies(large, total, item(), large) == pytest.approx(2 * once)
