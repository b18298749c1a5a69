"""A step under autocast keeps it in the code."""

from __future__ import annotations

import pytest

from tests.advice.compiling import compiled
from tests.advice.story import Beat, Clock, analysis, gemm, op, pointwise
from tests.build import TraceBuilder
from tests.reference import reference_traces
from tracelens import load, report
from tracelens.advice import advise
from tracelens.advice.operators.autocast import is_autocast


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


def converted(around: str, shape: list[int], given: list[list[int]]) -> Beat:
    """A copy to the lower type that an operator around it makes of an argument."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op(around, clock.host, 40, shapes=given, dtypes=["float"] * len(given))
        trace.op("aten::copy_", clock.host + 2, 20, shapes=[shape, shape, []], dtypes=["c10::BFloat16", "float", ""])
        starts = max(clock.drained, clock.host + 15)
        trace.launch("at::native::elementwise_kernel", clock.host + 5, 5, at=starts, runs=10)
        clock.host += 41
        clock.streams[7] = starts + 10

    return tell


LAYER = [[512, 128], [256, 128], [256]]


@pytest.mark.parametrize(("shape", "kernels"), [([256, 128], 2), ([512, 128], 1)], ids=["parameter", "input"])
def test_a_parameters_conversion_is_a_kernel_of_its_own(shape: list[int], kernels: int) -> None:
    norm = op("aten::native_layer_norm", 10, shapes=[[512, 128]], dtypes=["float"])
    assert compiled(norm, converted("aten::linear", shape, LAYER), gemm(5)).generated_kernels == kernels


def test_a_parameter_that_was_just_computed_is_converted_on_the_way() -> None:
    norm = op("aten::div", 10, shapes=[[256, 128], [256, 128]], dtypes=["float", "float"])
    assert compiled(norm, converted("aten::linear", [256, 128], LAYER), gemm(5)).generated_kernels == 1


@pytest.mark.parametrize(("shape", "kernels"), [([256, 128], 3), ([512, 128], 2)], ids=["parameter", "input"])
def test_so_is_that_of_its_gradient(shape: list[int], kernels: int) -> None:
    back = [pointwise(10, 512 * 128), converted("ToCopyBackward0", shape, []), pointwise(10, 512 * 128)]
    assert compiled(converted("aten::linear", [256, 128], LAYER), gemm(5), *back).generated_kernels == kernels


def test_the_gradient_of_a_bias_is_converted_where_it_is_summed() -> None:
    bias = [converted("aten::linear", [256], LAYER), gemm(5), converted("ToCopyBackward0", [256], [])]
    assert compiled(*bias, pointwise()).generated_kernels == 2
