"""From a trace to a verdict, on stories with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from tests.advice.cases.beats import loader
from tests.advice.story import Beat, Clock, analysis, at_step, call, fork, gemm, item, op, pointwise, told
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice.results import Advice
from tracelens.analysis import analyze
from tracelens.model.forms import FORMS

BIG = 1 << 25
MATRIX = op("aten::mm", 2, shapes=[[64, 64]] * 2, dtypes=["float"] * 2, host=30)
HOST_BOUND = [MATRIX, *[pointwise(2, host=30)] * 3] * 20
LIBRARY = [gemm(800) for _ in range(6)]
CHAIN = [pointwise(100, BIG) for _ in range(30)]
LIBRARY_LAUNCHES = [op("aten::_fft_r2c", 3, kernel="vector_fft", host=30)] * 60


def advice(*beats: Beat, **metadata: object) -> Advice:
    return advise(analysis(*beats, **metadata))


def step_ms(found: Advice, form: str) -> float:
    step = found.forms[form].step_ms
    assert step is not None
    return step


def test_many_short_kernels_are_compiled_and_replayed() -> None:
    found = advice(*HOST_BOUND)
    assert found.recommendation.verdict == "both"
    assert step_ms(found, "both") < step_ms(found, "eager") / 5
    assert "torch.cuda.graph" in found.recommendation.snippet
    assert "torch.compile" in found.recommendation.snippet


def test_short_library_kernels_are_only_replayed() -> None:
    found = advice(*LIBRARY_LAUNCHES)
    assert found.recommendation.verdict == "replay"
    assert "torch.compile" not in found.recommendation.snippet


def test_large_library_kernels_are_left_alone() -> None:
    found = advice(*LIBRARY)
    assert found.recommendation.verdict == "neither"
    assert found.recommendation.snippet == ""
    assert found.recommendation.speedup is not None
    assert found.recommendation.speedup.mid == 1


def test_a_long_chain_of_large_tensors_is_compiled() -> None:
    found = advice(*CHAIN)
    assert found.recommendation.verdict == "compile"
    assert step_ms(found, "compile") < step_ms(found, "eager") / 3


def test_a_step_cut_by_waits_is_repaired_first() -> None:
    body = [pointwise(1, host=30)] * 8
    found = advice(*[*body, item()] * 6, *body)
    recommendation = found.recommendation
    assert found.forms["replay"].step_ms is None
    assert recommendation.verdict == "neither"
    assert [blocker.id for blocker in recommendation.fix_first] == ["sync"]
    assert recommendation.after_fix is not None
    assert recommendation.after_fix.verdict in ("replay", "both")
    assert recommendation.after_fix.step_ms < step_ms(found, "eager") / 2
    assert "Repair first" in recommendation.summary


def test_long_stretches_between_waits_still_pay_under_reduce_overhead() -> None:
    body = [pointwise(1, host=30), gemm(2, 64, host=30)] * 60
    found = advice(*body, item(), *body)
    assert found.forms["replay"].step_ms is None
    assert found.recommendation.verdict == "both"
    assert found.forms["both"].variant == "reduce-overhead"
    assert "reduce-overhead" in found.recommendation.snippet


def test_changing_shapes_rule_out_one_captured_graph_but_not_the_compilers() -> None:
    varying = [at_step(step, pointwise(1, size=1000 + step)) for step in range(4)]
    found = advice(*varying, *HOST_BOUND)
    assert found.forms["replay"].step_ms is None
    assert found.forms["both"].variant == "reduce-overhead"
    assert found.forms["both"].step_ms is not None


def test_a_stray_wait_lowers_the_confidence_only() -> None:
    plain, stray = advice(*HOST_BOUND), advice(*HOST_BOUND, item(only=1))
    assert stray.recommendation.verdict == plain.recommendation.verdict
    assert stray.recommendation.confidence < plain.recommendation.confidence


@pytest.mark.parametrize("beats", [HOST_BOUND, LIBRARY, CHAIN, LIBRARY_LAUNCHES])
def test_every_number_lies_in_its_range_and_all_forms_are_there(beats: list[Beat]) -> None:
    found = advice(*beats)
    assert tuple(found.forms) == FORMS
    for form in found.forms.values():
        assert form.step_ms is not None
        assert form.low is not None
        assert form.high is not None
        assert 0 < form.low <= form.step_ms <= form.high
        assert form.source == "predicted"


def test_ranges_widen_on_a_device_unlike_the_calibration() -> None:
    other = {"deviceProperties": [{"id": 0, "name": "NVIDIA A10"}]}
    at_home, abroad = advice(*HOST_BOUND).forms["eager"], advice(*HOST_BOUND, **other).forms["eager"]
    assert at_home.step_ms == pytest.approx(abroad.step_ms)
    assert at_home.low is not None
    assert abroad.low is not None
    assert abroad.low < at_home.low / 1.1


def test_a_measured_step_replaces_the_prediction_and_keeps_it_beside() -> None:
    stamp = {"schema_version": 1, "form": "eager", "run": "r", "step_ms": 9.0, "low": 8.5, "high": 9.5, "steps": 200}
    found = advice(*HOST_BOUND, tracelens=stamp).forms["eager"]
    assert (found.step_ms, found.low, found.high, found.source, found.steps) == (9.0, 8.5, 9.5, "measured", 200)
    assert found.predicted is not None
    assert found.predicted[0] == pytest.approx(step_ms(advice(*HOST_BOUND), "eager")), "what the trace alone predicts"


def test_the_host_s_speed_follows_from_a_measured_eager_step() -> None:
    alone = step_ms(advice(*HOST_BOUND), "eager")
    slow = {"schema_version": 1, "form": "eager", "run": "r", "step_ms": 4 * alone}
    assert step_ms(advice(*HOST_BOUND, tracelens=slow), "compile") > 2 * step_ms(advice(*HOST_BOUND), "compile")


def test_a_loader_that_only_the_profiler_makes_slow_is_not_repaired_first() -> None:
    """Profiled, the host loads for longer than the device computes; without, the device is never out of work."""
    busy, idle = advice(loader(1500), gemm(1200)), advice(loader(1500), gemm(200))
    assert busy.recommendation.fix_first == ()
    assert [fix.id for fix in idle.recommendation.fix_first] == ["host_work"]


def test_a_damaged_stamp_is_as_none() -> None:
    stamp = {"form": "eager", "step_ms": "fast", "blockers": [3], "outputs": 7}
    assert advice(*HOST_BOUND, tracelens=stamp).forms["eager"].source == "predicted"


def test_work_that_stays_takes_no_less_on_a_device_that_was_not_measured() -> None:
    device = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}]}
    found = advise(analyze(told(*[gemm(2_000.0)] * 4, **device).trace()))
    for form in found.forms.values():
        assert form.low is not None
        assert form.low > 0.95 * 8
    assert found.recommendation.verdict == "neither"
    assert found.recommendation.decided


def graph_steps(kernels: list[str], **args: object) -> TraceBuilder:
    """Four steps of one graph launch each."""
    trace = TraceBuilder()
    for step in range(4):
        begun = 262.0 * step
        nodes = [(name, begun + 20 + 12 * at, 10.0) for at, name in enumerate(kernels)]
        trace.step(step, begun, 261).launch_graph(begun + 5, 10, nodes, **args)
    return trace


def test_a_replayed_step_is_never_told_to_replay() -> None:
    found = advise(analyze(graph_steps(["nvjet_gemm"] * 20).trace()))
    assert found.recommendation.verdict == "neither"
    assert "already replayed" in found.recommendation.summary
    assert found.forms["eager"].step_ms is None
    assert step_ms(found, "replay") == pytest.approx(0.2, rel=0.1)


def test_the_host_of_a_short_replay_is_its_copies_and_launch_and_nothing_on_top() -> None:
    trace = TraceBuilder()
    for step in range(4):
        begun = 60.0 * step
        nodes = [("nvjet_gemm", begun + 25 + 2 * at, 1.0) for at in range(12)]
        trace.step(step, begun, 59).launch_graph(begun + 5, 16, nodes)
    assert step_ms(advise(analyze(trace.trace())), "replay") < 0.03


def test_fusable_kernels_of_a_replayed_step_may_be_worth_compiling() -> None:
    names = ["nvjet_gemm", *["void at::native::vectorized_elementwise_kernel<4, add>"] * 19]
    found = advise(analyze(graph_steps(names).trace()))
    assert found.recommendation.verdict == "both"
    assert not found.recommendation.decided, "told by names alone"
    low, high = found.forms["both"].low, found.forms["both"].high
    assert low is not None
    assert high is not None
    assert low < 0.025, "they may all vanish but the product"
    assert high >= step_ms(found, "replay"), "or none"


def test_a_compiled_and_replayed_step_is_done() -> None:
    found = advise(analyze(graph_steps(["triton_poi_fused_add_0"] * 20).trace()))
    assert found.recommendation.verdict == "neither"
    assert "already compiled and replayed" in found.recommendation.summary


def test_a_replay_of_compiled_code_by_itself_is_the_compilers_own() -> None:
    by_hand, by_itself = graph_steps(["triton_poi_fused_add_0"] * 20), graph_steps(["triton_poi_fused_add_0"] * 20)
    for step in range(4):
        by_itself.annotation("Torch-Compiled Region: 0/0", 262.0 * step + 2, 30)
    made = [advise(analyze(trace.trace())).forms["both"].variant for trace in (by_hand, by_itself)]
    assert made == ["manual", "reduce-overhead"]


def test_a_compiled_step_with_a_slow_host_is_to_be_replayed() -> None:
    found = advice(*[op("triton_poi_fused_add_0", 2, kernel="triton_poi_fused_add_0", host=30)] * 40)
    assert found.recommendation.verdict == "both"
    assert found.forms["eager"].step_ms is None
    assert step_ms(found, "both") < step_ms(found, "compile")


@pytest.mark.parametrize(("runs", "host", "most"), [(2, 30, 1.2), (200, 30, 1.012)], ids=["host", "device"])
def test_a_compiled_step_of_a_slow_host_may_take_longer_than_recorded(runs: float, host: float, most: float) -> None:
    found = analysis(*[op("triton_poi_fused_add_0", runs, kernel="triton_poi_fused_add_0", host=host)] * 40)
    recorded = float(np.diff(found.window.tiles[0])[0]) / 1e6
    assert advise(found).forms["compile"].high == pytest.approx(most * recorded, rel=0.005)


def prefetch(runs: float) -> Beat:
    """A copy of the next batch into tensors that are there, on a stream of its own."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.streams.get(13, 0.0), clock.host + 11)
        trace.op("aten::copy_", clock.host, 8).copy(clock.host + 1, 5, at=starts, runs=runs, stream=13)
        clock.host += 9
        clock.streams[13] = starts + runs

    return tell


@pytest.mark.parametrize("at", [0, 15, 30], ids=["first", "inside", "last"])
def test_a_short_prefetch_on_a_stream_of_its_own_leaves_the_verdict(at: int) -> None:
    beats = [gemm(20, 1024), pointwise(10, size=1 << 21), pointwise(10, size=1 << 21)] * 10
    alone, beside, long = (
        advice(*beats[:at], *copies, *beats[at:])
        for copies in ((), (*fork(), prefetch(5), *fork()), (*fork(), prefetch(400), *fork()))
    )
    assert beside.recommendation.verdict == alone.recommendation.verdict == "both"
    assert step_ms(beside, "both") == pytest.approx(step_ms(alone, "both"), rel=0.05)
    assert long.forms["both"].terms.decided_by == "copy_awaited"


def test_no_device_work_gives_no_verdict() -> None:
    for trace in (TraceBuilder(), TraceBuilder().step(0, 0, 100).op("aten::mm", 5, 50)):
        found = advise(analyze(trace.trace()))
        assert found.recommendation.verdict == "abstain"
        assert found.recommendation.summary.startswith("No verdict.")
        assert all(form.step_ms is None for form in found.forms.values())


def test_unlinked_kernels_give_no_verdict() -> None:
    trace = TraceBuilder()
    for at in range(30):
        trace.kernel("gemm", 10 + 20 * at, 10)
    assert advise(analyze(trace.trace())).recommendation.verdict == "abstain"


def test_two_steps_are_enough() -> None:
    assert advise(analyze(told(*HOST_BOUND, steps=2).trace())).recommendation.verdict == "both"


def test_a_measured_range_holds_its_time() -> None:
    stamp = {"schema_version": 1, "form": "eager", "step_ms": 9.0, "low": 9.5, "high": 8.0}
    found = advice(*HOST_BOUND, tracelens=stamp).forms["eager"]
    assert (found.low, found.step_ms, found.high) == (9.0, 9.0, 9.0)


def test_what_the_host_does_beside_a_replay_stays_in_every_form() -> None:
    trace = TraceBuilder()
    for step in range(4):
        begun = 3_000.0 * step
        trace.step(step, begun, 2_999).op("aten::select", begun + 10, 2_500)
        trace.launch_graph(begun + 2_600, 10, [("elementwise_kernel<4, add>", begun + 2_620, 50.0)])
    found = advise(analyze(trace.trace()))
    assert step_ms(found, "replay") > 1.0
    assert step_ms(found, "both") > 1.0
    assert found.recommendation.verdict == "neither"


def fetch(trace: TraceBuilder, clock: Clock, step: int) -> None:
    """A batch fetched by the launching thread with many short operators, in 2 ms."""
    trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", clock.host, 2_000)
    for at in range(0, 1_900, 50):
        trace.op("aten::select", clock.host + at + 10, 40)
    clock.host += 2_001


def allocate(trace: TraceBuilder, clock: Clock, step: int) -> None:
    """Device memory that the driver frees and allocates anew, in 2 ms."""
    clock.host = max(clock.drained, clock.host)
    trace.free(clock.host, 1_000).malloc(clock.host + 1_001, 999)
    clock.host += 2_001


@pytest.mark.parametrize("beat", [fetch, allocate])
def test_fetching_and_allocating_stay_in_every_form(beat: Beat) -> None:
    found = advice(beat, *[pointwise()] * 20)
    assert min(step_ms(found, form) for form in FORMS) > 1.0
    assert step_ms(found, "compile") < 1.2 * step_ms(found, "eager")


def test_a_costly_allocator_is_repaired_first() -> None:
    found = advice(allocate, *[pointwise()] * 20).recommendation
    assert [blocker.id for blocker in found.fix_first] == ["allocation"]
    assert found.after_fix is not None
    assert found.after_fix.step_ms < 0.5


def test_the_stamp_tells_the_form_that_was_recorded() -> None:
    stamped = told(*[pointwise()] * 20).stamp(form="compile", step_ms=0.3)
    assert analyze(stamped.trace()).form == "compile"
    assert analyze(told(*[pointwise()] * 20).stamp(form="eager", step_ms=0.3).trace()).form == "eager"


def test_a_step_whose_other_forms_are_not_shown_is_less_sure() -> None:
    found = advise(analyze(graph_steps(["nvjet_gemm"] * 10 + ["triton_poi_fused_add"] * 10).trace()))
    assert found.forms["both"].step_ms is not None
    assert found.recommendation.verdict == "neither"
    assert found.recommendation.confidence < 0.7


@pytest.mark.parametrize("beats", [[*HOST_BOUND, item()], [*HOST_BOUND, call("cudaMalloc", 20_000), *HOST_BOUND]])
def test_all_that_is_to_be_repaired_first_is_named_by_a_form(beats: list[Beat]) -> None:
    found = advice(*beats)
    named = {blocker.id for form in found.forms.values() for blocker in form.blockers}
    first = {blocker.id for blocker in found.recommendation.fix_first}
    assert first
    assert first <= named


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_a_step_that_the_profilers_own_call_outlasts_takes_as_long_as_its_operators(launches: int) -> None:
    advice = advise(analysis(*[pointwise(1.0, host=10)] * launches, pause=2))
    eager = advice.forms["eager"]
    assert eager.step_ms is not None
    assert eager.step_ms > launches * 0.004, "a launch call alone takes 5 us, the profiler's part included"
    assert "The host needs about" in advice.recommendation.summary


def test_a_kernel_alone_has_nothing_to_fuse_with() -> None:
    for beats in ([pointwise(5_000.0, size=1 << 20)], [gemm(5_000.0), pointwise(1_000.0, size=1 << 20)]):
        assert "none of it in kernels that can fuse" in advise(analysis(*beats, steps=11)).recommendation.summary


def test_a_range_whose_work_was_launched_before_it_says_so() -> None:
    builder = TraceBuilder()
    builder.op("aten::mm", 0, 9).launch("sgemm", 2, 5, at=1_000, runs=500)
    builder.op("aten::mm", 10, 9).launch("sgemm", 12, 5, at=1_500, runs=500)
    trace = builder.trace()
    first = int(trace.events.start[trace.events.device_work()].min())
    found = advise(analyze(trace, span=(first, first + 900_000))).recommendation
    assert found.verdict == "abstain"
    assert "launched before it" in found.summary
