"""What the advice says: the words agree with the forms, the trace's own form and what blocks a capture."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from tests.advice.cases.beats import graph, pause
from tests.advice.story import Beat, Clock, analysis, at_step, call, gemm, item, op, pointwise
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice.choice.reason import reason
from tracelens.advice.choice.recommend import GUESSED
from tracelens.advice.choice.snippet import Target, code
from tracelens.advice.device.facts import facts_of
from tracelens.advice.device.power import PEAK_RATE, POWER_FROM, POWER_SLOWDOWN
from tracelens.advice.results import Advice
from tracelens.advice.step.often import often
from tracelens.analysis import analyze
from tracelens.model.units import NS_PER_MS

MATRIX = op("aten::mm", 2, shapes=[[64, 64]] * 2, dtypes=["float"] * 2, host=30)
HOST_BOUND = [MATRIX, *[pointwise(2, host=30)] * 3] * 20
LIMITED = 1 + POWER_SLOWDOWN * (PEAK_RATE - POWER_FROM)
"""Slowdown of the fastest products once the power limit holds."""
TRITON = op("triton_poi_fused_add_0", 2, kernel="triton_poi_fused_add_0", host=30)


def advice(*beats: Beat, **options: object) -> Advice:
    return advise(analysis(*beats, **options))


def backward(name: str | None) -> Beat:
    """Marks a step as training, with an optimizer of a class or without."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("autograd::engine::evaluate_function: AddBackward0", clock.host, 5)
        if name is not None:
            trace.annotation(f"Optimizer.step#{name}.step", clock.host + 6, 5)
        clock.host += 12

    return tell


@pytest.mark.parametrize("verdict", ["compile", "replay", "both", "neither"])
@pytest.mark.parametrize("variant", ["manual", "reduce-overhead"])
@pytest.mark.parametrize("optimizer", [None, "SGD", "AdamW", "RMSprop"])
@pytest.mark.parametrize("changing", [False, True])
def test_every_snippet_is_narrow_python(verdict: str, variant: str, optimizer: str | None, changing: bool) -> None:
    for training in (False, True):
        for scaled, autocast in ((False, False), (False, True), (True, True)):
            for module in ("", "M" * 22):
                text = code(verdict, variant, Target(training, optimizer, changing, scaled, autocast, module))
                ast.parse(text)
                assert max((len(line) for line in text.splitlines()), default=0) <= 80


def test_a_training_step_is_captured_as_a_function_with_its_optimizer() -> None:
    snippet = advice(*HOST_BOUND, backward("AdamW")).recommendation.snippet
    step = ast.parse(snippet).body[0]
    assert isinstance(step, ast.FunctionDef)
    for part in ("zero_grad", "loss.backward()", "optimizer.step()", "return loss"):
        assert part in ast.unparse(step)
    assert "AdamW: keep your own arguments; add capturable=True" in snippet
    assert "warm-up calls are real optimizer steps" in snippet


@pytest.mark.parametrize("optimizer", ["SGD", None])
def test_no_argument_is_asked_of_an_optimizer_that_does_not_take_it(optimizer: str | None) -> None:
    snippet = advice(*HOST_BOUND, backward(optimizer)).recommendation.snippet
    assert "capturable" not in snippet
    assert "AdamW" not in snippet
    assert ("optimizer.step()" in snippet) == (optimizer is not None)


def test_a_form_that_runs_despite_a_blocker_says_how() -> None:
    varying = [at_step(step, pointwise(1, size=1000 + step)) for step in range(4)]
    found = advice(*varying, *[gemm(8, host=30)] * 80)
    assert "despite shapes that change between steps" in found.recommendation.summary
    assert "a graph for each shape" in found.recommendation.summary
    assert found.forms["both"].variant == "reduce-overhead"


def test_what_is_no_proof_blocks_no_form_and_becomes_a_finding() -> None:
    found = advice(*HOST_BOUND, item(only=1))
    assert not any(form.blockers for form in found.forms.values())
    assert "sync" in {finding.rule for finding in found.findings}


def test_a_manual_capture_has_no_blockers() -> None:
    for beats in (HOST_BOUND, [*HOST_BOUND, call("cudaDeviceSynchronize", 200)]):
        both = advice(*beats).forms["both"]
        assert both.variant == "manual"
        assert both.blockers == ()


def test_an_allocator_that_takes_most_of_the_step_is_repaired_first() -> None:
    found = advice(*HOST_BOUND, call("cudaMalloc", 20_000), *HOST_BOUND).recommendation
    assert [blocker.id for blocker in found.fix_first] == ["allocation"]
    assert "Repair first: 1 call to allocate or free device memory a step" in found.summary


@pytest.mark.parametrize(
    ("beats", "limit"),
    [
        (HOST_BOUND, 1.0),
        ([pointwise(500)] * 10, 1.0),
        ([gemm(200)] * 10, LIMITED),
        ([gemm(200), item()] * 8, LIMITED),
        ([TRITON] * 40, 1.0),
    ],
)
def test_no_form_is_slower_than_its_own_trace_but_for_the_power_limit(beats: list[Beat], limit: float) -> None:
    traced = analysis(*beats)
    own = advise(traced).forms["compile" if traced.form == "compile" else "eager"]
    recorded = traced.attribution.window_ns / len(traced.window.tiles) / 1e6
    assert own.step_ms is not None
    assert own.low is not None
    assert own.low <= own.step_ms <= limit * recorded * (1 + 1e-9)


def test_a_compiled_step_is_not_told_to_compile() -> None:
    found = advice(*[TRITON] * 40)
    assert found.recommendation.verdict == "both"
    assert found.recommendation.summary.startswith("Keep torch.compile and also replay")
    assert not any("fuse with torch.compile" in finding.advice for finding in found.findings)


def test_unknown_forms_are_not_judged() -> None:
    trace = TraceBuilder()
    for step in range(4):
        nodes = [("triton_poi_fused_add_0", 400.0 * step + 20 + 12 * at, 10.0) for at in range(20)]
        trace.step(step, 400 * step, 399).launch_graph(400 * step + 5, 10, nodes)
    summary = advise(analyze(trace.trace())).recommendation.summary
    assert "this trace does not show" in summary
    assert "little" not in summary


def test_one_short_kernel_gives_no_verdict() -> None:
    trace = TraceBuilder().op("aten::add", 0, 20)
    trace.launch("add", 10, 5, at=30, runs=5)
    assert advise(analyze(trace.trace())).recommendation.verdict == "abstain"


def test_kernel_time_is_that_of_the_account() -> None:
    traced = analysis(*HOST_BOUND)
    kernels = sum(traced.attribution.parts["kernel"].values()) / len(traced.window.tiles) / 1e6
    assert f"run for {kernels:.2f}" in advise(traced).recommendation.summary


def test_repairs_and_their_code_go_together() -> None:
    body = [pointwise(1, host=30)] * 8
    found = advice(*[*body, item()] * 6, *body).recommendation
    assert found.after_fix is not None
    assert found.snippet.startswith("# once it is repaired")
    assert "torch.cuda.graph" in found.snippet


@pytest.mark.parametrize(("steps", "begins"), [(1, "At a guess, replay "), (3, "Perhaps replay ")])
def test_what_is_no_sure_gain_is_called_so_with_its_code(steps: int, begins: str) -> None:
    found = advice(*[pointwise(4, 1 << 14, host=30)] * 30, pause(3000), steps=steps).recommendation
    assert found.summary.startswith(begins)
    assert found.decided is (steps > 1)
    assert found.snippet.startswith(GUESSED) is not found.decided


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([1, 1], "1 wait for it a step"),
        ([2, 2], "2 waits for it a step"),
        ([2, 1, 2], "about 2 waits for it a step"),
        ([0, 1, 0, 0], "1 wait for it in 1 of 4 steps"),
        ([1] * 9 + [0] * 30, "1 wait for it in about 1 of 4 steps"),
    ],
)
def test_counts_read_as_people_say_them(counts: list[int], said: str) -> None:
    assert often(np.array(counts), "wait", " for it") == said


def test_a_saving_too_small_to_tell_is_left_out() -> None:
    for finding in advice(*HOST_BOUND, call("cudaMalloc", 1)).findings:
        assert finding.saving_ms is None or finding.saving_ms >= 1e-3


def test_device_time_beside_a_shorter_prediction_says_what_each_counts() -> None:
    trace = TraceBuilder()
    for step in range(4):
        trace.step(step, 1_850 * step, 1_850)
        for number in range(4):
            launched, begins = 1_850 * step + 460 * number, 12 + 1_850 * step + 460 * number
            trace.op("aten::mm", launched, 9).launch("sgemm", launched + 2, 5, at=begins, runs=230)
            trace.copy(launched + 10, 5, at=begins + 230, runs=230, stream=8)
    told = advise(analyze(trace.trace())).recommendation.summary
    assert "run for 1.84 ms (" in told
    assert "where its streams overlap as far as their events allow)" in told


def test_a_device_on_one_stream_has_one_time() -> None:
    assert "streams overlap" not in advice(*[gemm(200)] * 10).recommendation.summary


@pytest.mark.parametrize("steps", [1, 4])
def test_a_repaired_step_fuses_as_much_seen_once_as_seen_often(steps: int) -> None:
    traced = analysis(*[pointwise(100, size=1 << 25, host=200)] * 40, call("cudaMalloc", 60_000), steps=steps)
    after = advise(traced).recommendation.after_fix
    assert after is not None
    assert after.verdict in ("compile", "both")
    assert after.step_ms < 0.4, "a tenth of the 4 ms that the device works now"
    assert after.low <= after.step_ms <= after.high
    assert after.terms is not None
    assert after.terms.values["replaced_ns"] == pytest.approx(4_000_000)


def test_one_step_is_less_sure_than_several() -> None:
    sure = [advice(*HOST_BOUND, steps=steps).recommendation.confidence for steps in (1, 4)]
    assert sure[0] < 0.75 < sure[1]


def test_a_compiled_host_needs_about_the_time_of_its_step() -> None:
    found = advice(*[TRITON] * 40)
    told = re.search(r"The host needs about ([\d.]+) ms", found.recommendation.summary)
    assert told is not None
    assert float(told[1]) == pytest.approx(found.forms["compile"].step_ms, rel=0.1)


def test_a_replaying_host_needs_about_the_time_of_its_step() -> None:
    found = advice(graph(5, 2, call=40, name="triton_poi_fused_add_0"), *[pause(20)] * 4)
    told = re.search(r"The host needs about ([\d.]+) ms", found.recommendation.summary)
    assert told is not None
    assert float(told[1]) == pytest.approx(found.forms["both"].step_ms, rel=0.01)


def test_a_device_that_idles_is_no_limit() -> None:
    facts = facts_of(analysis(*[gemm(200)] * 10))
    assert facts is not None
    busy_ms = facts.region.busy / NS_PER_MS
    assert reason(facts, busy_ms).startswith("The device is the limit: its kernels run for")
    assert reason(facts).startswith("The device is the limit")
    assert reason(facts, 2 * busy_ms).startswith("The device idles for about 50.0 % of the step: its kernels run for")


def test_a_device_that_only_lower_clocks_make_slow_does_not_idle() -> None:
    facts = facts_of(analysis(*[gemm(200)] * 10))
    assert facts is not None
    clocks, busy_ms = facts.sustained.mid, facts.region.busy / NS_PER_MS
    assert clocks > 1.1
    told = f"The device is the limit: its kernels run for {busy_ms:.2f} ms ({clocks * busy_ms:.2f} ms at the clocks of"
    assert reason(facts, clocks * busy_ms).startswith(told)
