"""A step under autocast keeps it in the code."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, Clock, analysis, pointwise
from tests.build import TraceBuilder
from tests.reference import reference_traces
from tracelens import load, report
from tracelens.advice import advise
from tracelens.advice.autocast import is_autocast


def casting(outer: str) -> Beat:
    """An operator that converts an argument before it launches."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op(outer, clock.host, 30)
        trace.op("aten::to", clock.host + 2, 10)
        trace.launch("nvjet_sm90_hsh", clock.host + 20, 5, at=clock.host + 30, runs=2)
        clock.host += 32

    return tell


def training(trace: TraceBuilder, clock: Clock, step: int) -> None:
    del step
    trace.op("autograd::engine::evaluate_function: AddBackward0", clock.host, 5)
    clock.host += 6


@pytest.mark.parametrize("outer", ["aten::linear", "aten::conv2d"])
def test_products_that_convert_their_arguments_are_under_autocast(outer: str) -> None:
    found = analysis(*[casting(outer), *[pointwise(2, host=30)] * 3] * 20, training)
    assert is_autocast(found.trace)
    assert "torch.autocast" in advise(found).recommendation.snippet


def test_a_step_without_a_training_pass_is_reminded_of_it() -> None:
    found = advise(analysis(*[casting("aten::linear"), *[pointwise(2, host=30)] * 3] * 20)).recommendation
    assert found.snippet.startswith("# step keeps its autocast")


@pytest.mark.parametrize("outer", ["user_code", "aten::mse_loss"])
def test_other_conversions_are_not(outer: str) -> None:
    assert not is_autocast(analysis(*[casting(outer), pointwise(2, host=30)] * 20, training).trace)


def test_real_steps_are_told_apart() -> None:
    real = {path.name: path for path in reference_traces("h200") if ".eager." in path.name}
    told = {"train_resnet50_b64_amp.eager.json.gz": True, "train_forloop_adam.eager.json.gz": False}
    if not told.keys() <= real.keys():
        pytest.skip("no such traces")
    for name, wanted in told.items():
        assert is_autocast(load(real[name])) == wanted
        assert ("torch.autocast" in report(real[name]).document["recommendation"]["snippet"]) == wanted
