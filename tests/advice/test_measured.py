"""Measured forms: read from form objects, beside their predictions, and the verdict that follows."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import runs
from tests.advice.story import Beat, analysis, gemm, item, op, pointwise, told
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice.forms.measured import measured_forms
from tracelens.advice.results import Advice
from tracelens.analysis import analyze
from tracelens.analysis.results import Analysis
from tracelens.api import Span
from tracelens.loading.load import empty_trace

POINTWISE = [pointwise()] * 20
PRODUCTS = [gemm(2.0)] * 20


@cache
def nothing_analysed() -> Analysis:
    return analyze(empty_trace("run"))


def judged(forms: dict[str, Any], *beats: Beat) -> Advice:
    return advise(analysis(*(beats or POINTWISE)), forms)


def test_the_verdict_follows_from_the_measurement() -> None:
    predicted = judged({}, *POINTWISE * 4)
    assert predicted.recommendation.verdict == "both"
    slow = {
        name: runs.measured(step) for name, step in (("eager", 0.7), ("compile", 0.9), ("replay", 0.8), ("both", 0.9))
    }
    assert judged(slow).recommendation.verdict == "neither"
    assert judged({**slow, "replay": runs.measured(0.3)}).recommendation.verdict == "replay"


def test_a_measurement_whose_steps_differ_wildly_decides_nothing() -> None:
    others = {"compile": runs.measured(0.9), "replay": runs.measured(0.3), "both": runs.measured(0.9)}
    wild = judged({**others, "eager": runs.measured(0.7, low=0.1, high=45.0)}).recommendation
    assert wild.verdict == "abstain"
    assert "Eager took 0.100 to 45" in wild.summary
    assert judged({**others, "eager": runs.measured(0.7, low=0.5, high=2.0)}).recommendation.verdict == "replay"


def test_every_measured_form_keeps_what_the_trace_alone_predicts() -> None:
    alone, run = judged({}).forms, judged(runs.ALL).forms
    for name, form in run.items():
        assert form.source == "measured"
        assert form.predicted == (alone[name].step_ms, alone[name].low, alone[name].high)


def test_forms_that_a_run_lacks_are_predicted_with_the_host_s_measured_speed() -> None:
    alone, run = judged({}, *PRODUCTS).forms, judged({"eager": runs.measured(4.0)}, *PRODUCTS).forms
    assert run["compile"].source == "predicted"
    assert (run["compile"].step_ms or 0) > 1.5 * (alone["compile"].step_ms or 0)


def test_a_form_whose_outputs_differ_is_never_advised() -> None:
    forms = {**runs.ALL, "both": runs.measured(0.06, outputs="differ", largest_error=0.3)}
    found = judged(forms)
    assert found.recommendation.verdict == "replay"
    assert found.forms["both"].step_ms == 0.06
    assert (
        found.recommendation.confidence
        == judged({**runs.ALL, "both": runs.failed("sync", "no")}).recommendation.confidence
    )


def test_set_up_pays_after_what_it_takes_longer_than_eager_s() -> None:
    forms = judged(runs.ALL).forms
    assert forms["replay"].break_even_steps == pytest.approx((1.5 - 0.1) * 1e3 / (0.7 - 0.14))
    assert forms["eager"].break_even_steps is None
    slower = {**runs.ALL, "compile": runs.measured(0.9)}
    assert judged(slower).forms["compile"].break_even_steps is None


def test_the_compiler_s_reasons_are_blockers_with_their_places() -> None:
    forms = {
        "compile": runs.measured(
            1.0,
            graph_breaks=[{"reason": "Tensor.item() call\nsecond line", "where": "model.py:41", "count": 2}],
            recompiles=[{"guard": "size mismatch", "where": "model.py:9", "count": 1}],
        ),
        "both": runs.measured(1.0, cudagraph_skips=[{"reason": "skipping cudagraphs: mutated inputs", "count": 1}]),
        "eager": runs.measured(1.0, syncs=[{"where": "train.py:7", "count": 8}]),
    }
    found = measured_forms(None, forms)
    assert [(b.id, b.message, b.where) for b in found["compile"].blockers] == [
        ("graph_break", "graph break (2 times): Tensor.item() call", "model.py:41"),
        ("recompile", "recompiled: size mismatch", "model.py:9"),
    ]
    assert found["both"].blockers[0].id == "cudagraph_skip"
    assert found["eager"].blockers[0].message == "waits for the device (8 times)"


@pytest.mark.parametrize("length", [300, 9_000])
def test_a_reason_of_any_length_is_told_in_a_few_lines(length: int) -> None:
    reason = "r" * length
    broken = runs.measured(1.0, graph_breaks=[{"reason": reason, "where": None, "count": 1}])
    found = measured_forms(None, {"compile": broken, "replay": runs.failed("error", reason)})
    told = [found["compile"].blockers[0].message, found["replay"].blockers[0].message, found["replay"].error or ""]
    assert all((reason in one) == (length <= 300) and len(one) < 330 for one in told)


SYNCED = [pointwise(), item()] * 8
NOT_PERMITTED = runs.failed("sync", "operation not permitted when stream is capturing", "model.py:7")


def test_a_failed_capture_names_the_place_of_the_blocker_that_the_trace_counts() -> None:
    found = judged({"eager": runs.measured(0.7), "replay": NOT_PERMITTED}, *SYNCED)
    assert found.forms["replay"].step_ms is None
    assert found.forms["replay"].error == "operation not permitted when stream is capturing"
    first = found.recommendation.fix_first[0]
    assert (first.id, first.where) == ("sync", "model.py:7")
    assert first.per_step == 8


def test_a_capture_that_worked_refutes_the_blockers_of_the_trace() -> None:
    assert judged({}, *SYNCED).recommendation.fix_first
    found = judged({"eager": runs.measured(0.7), "replay": runs.measured(0.1)}, *SYNCED)
    assert found.recommendation.fix_first == ()
    assert found.forms["replay"].blockers == ()


def test_a_capture_that_failed_on_what_no_trace_shows_is_to_be_repaired_first() -> None:
    state = runs.failed("optimizer_state", "capturable=False", "train.py:12")
    found = judged({"eager": runs.measured(0.7), "compile": runs.measured(0.7), "replay": state, "both": state})
    assert found.recommendation.verdict == "neither"
    assert [(fix.id, fix.where) for fix in found.recommendation.fix_first] == [("optimizer_state", "train.py:12")]
    assert found.recommendation.after_fix is not None


def test_measurements_need_no_trace() -> None:
    nothing = nothing_analysed()
    assert advise(nothing, runs.ALL).recommendation.verdict == "both"
    only = advise(nothing, {"eager": runs.measured(0.7)})
    assert only.recommendation.verdict == "abstain"
    assert only.forms["eager"].step_ms == 0.7


def test_a_run_is_believed_before_the_trace_s_own_stamp() -> None:
    stamped = analyze(told(*POINTWISE, tracelens={"form": "eager", "step_ms": 3.0}).trace())
    assert advise(stamped).forms["eager"].step_ms == 3.0
    assert advise(stamped, {"eager": runs.measured(0.7)}).forms["eager"].step_ms == 0.7


KEYS = (
    "step_ms",
    "low",
    "high",
    "setup_s",
    "steps",
    "blockers",
    "graph_breaks",
    "syncs",
    "outputs",
    "error",
    "variant",
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=4),
    st.lists(st.none() | st.text(max_size=3)),
    st.lists(st.dictionaries(st.sampled_from(("id", "message", "where", "count", "reason")), st.floats() | st.text())),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(("eager", "both")), st.dictionaries(st.sampled_from(KEYS), VALUES), min_size=1))
def test_any_form_object_gives_a_verdict(forms: dict[str, dict[str, Any]]) -> None:
    found = advise(nothing_analysed(), forms)
    assert set(found.forms) == {"eager", "compile", "replay", "both"}
    assert 0 <= found.recommendation.confidence <= 1


def stamped(span: Span | None = None) -> Analysis:
    """The analysis of a trace that carries its own eager time and more."""
    return analyze(told(*POINTWISE).stamp(form="eager", **runs.measured(0.7)).trace(), span=span)


@pytest.mark.parametrize("span", ["all", (0, 1_000_000)])
def test_measured_times_say_nothing_of_a_range(span: Span) -> None:
    found = advise(stamped(span=span), runs.ALL)
    assert {form.source for form in found.forms.values()} == {"predicted"}
    assert all(form.predicted is None for form in found.forms.values())
    assert advise(stamped(), runs.ALL).forms["eager"].step_ms == 0.7


def test_an_idle_range_gets_no_verdict_from_measurements() -> None:
    found = advise(stamped(span=(10**9, 2 * 10**9)), runs.ALL).recommendation
    assert found.verdict == "abstain"
    assert found.summary.startswith("No verdict. the range lies outside the recording")


def test_measured_times_beside_an_unusable_trace_are_half_as_sure() -> None:
    sure = judged(runs.ALL).recommendation
    alone = advise(nothing_analysed(), runs.ALL).recommendation
    assert alone.verdict == sure.verdict
    assert alone.confidence == pytest.approx(0.5 * sure.confidence, abs=0.01)


def test_a_prediction_that_the_measurement_refutes_is_less_sure() -> None:
    close, far = (judged({"eager": runs.measured(ms)}, *PRODUCTS).recommendation for ms in (0.3, 10.0))
    assert far.confidence < close.confidence


@pytest.mark.parametrize(("replay", "low"), [(0.696, 0.695), (0.68, 0.66)])
def test_a_gain_within_noise_pays_for_nothing(replay: float, low: float) -> None:
    forms = {
        "eager": runs.measured(0.7, low=0.69 if replay < 0.69 else 0.6999, high=0.72),
        "replay": runs.measured(replay, low=low, high=0.6965),
    }
    assert judged(forms).forms["replay"].break_even_steps is None


def test_a_predicted_set_up_comes_on_top_of_eager_s() -> None:
    forms = judged({}, *[pointwise(2, host=30)] * 80).forms
    eager, replay = forms["eager"].step_ms, forms["replay"]
    assert eager is not None
    assert replay.step_ms is not None
    assert replay.setup_s is not None
    assert replay.break_even_steps == pytest.approx(1e3 * replay.setup_s / (eager - replay.step_ms))


LAZY = runs.measured(0.5, compiler_graphs=0)


def test_a_form_that_the_compiler_did_nothing_for_is_not_advised() -> None:
    found = judged({"eager": runs.measured(0.7), "compile": LAZY, "both": LAZY, "replay": NOT_PERMITTED}, *SYNCED)
    advised, after = found.recommendation, found.recommendation.after_fix
    assert found.forms["compile"].step_ms == 0.5
    assert found.forms["compile"].blockers[0].message.startswith("compile did nothing (0 graphs)")
    assert found.forms["compile"].break_even_steps is None
    assert advised.verdict == "neither"
    assert after is not None
    assert after.step_ms < 0.35
    assert [fix.id for fix in advised.fix_first] == ["sync"]
    assert "fusable_chains" not in {finding.rule for finding in found.findings}


@pytest.mark.parametrize("graphs", [1, None, True])
def test_a_compiled_form_with_graphs_or_unknown_ones_counts(graphs: object) -> None:
    forms = {"eager": runs.measured(0.7), "compile": runs.measured(0.3, compiler_graphs=graphs)}
    assert not judged(forms).forms["compile"].did_nothing


def test_no_graphs_of_eager_mean_nothing() -> None:
    assert not judged({"eager": runs.measured(0.7, compiler_graphs=0)}).forms["eager"].did_nothing


def test_a_gain_that_processes_of_one_code_differ_by_is_not_sure() -> None:
    steady, host = ([op("aten::mm", ran, host=20)] * 20 for ran in (30.0, 1.0))
    forms = {"eager": runs.measured(0.7), "compile": runs.measured(0.6)}
    forms |= {name: runs.measured(0.9) for name in ("replay", "both")}
    of_device, of_host = (judged(forms, *beats).recommendation for beats in (steady, host))
    assert (of_device.verdict, of_host.verdict) == ("compile", "compile")
    assert of_device.confidence == 0.95
    assert of_host.confidence < 0.85


ADD = "void at::native::vectorized_elementwise_kernel<4, add>"


def replayed(**stamp: object) -> Advice:
    """What is advised of a replayed step that carries this stamp."""
    trace = TraceBuilder()
    for step in range(4):
        nodes = [(ADD, 400.0 * step + 20 + 12 * at, 10.0) for at in range(20)]
        trace.step(step, 400 * step, 399).launch_graph(400 * step + 5, 10, nodes)
    return advise(analyze((trace.stamp(form="replay", run=runs.ID, **stamp) if stamp else trace).trace()))


@pytest.mark.parametrize("miss", [0.8, 1.7])
def test_a_gain_over_a_measured_replay_is_never_the_miss_of_its_prediction(miss: float) -> None:
    alone = replayed().forms
    assert alone["replay"].step_ms is not None
    took = miss * alone["replay"].step_ms
    found = replayed(**runs.measured(took)).forms
    assert found["replay"].step_ms == took
    assert found["both"].step_ms == pytest.approx(miss * (alone["both"].step_ms or 0.0))


def test_the_account_of_another_form_explains_nothing_of_the_one_in_use() -> None:
    compiled = [op("triton_poi_fused_add_0", 2, kernel="triton_poi_fused_add_0", host=30)] * 40
    assert "The host needs" in judged({}, *compiled).recommendation.summary
    assert "The host needs" not in judged(runs.ALL, *compiled).recommendation.summary


def test_a_trace_that_the_compiler_did_nothing_for_is_one_of_eager_code() -> None:
    compiled = analysis(*[op("triton_poi_fused_add_0", 2, kernel="triton_poi_fused_add_0", host=30)] * 40)
    nothing = {**runs.ALL, "compile": runs.measured(0.69, compiler_graphs=0)}
    assert compiled.form == "compile"
    assert advise(compiled, runs.ALL).forms["replay"].predicted is None
    assert advise(compiled, nothing).forms["replay"].predicted is not None
