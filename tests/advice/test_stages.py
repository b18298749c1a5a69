"""Reductions that generated code makes in stages."""

from __future__ import annotations

import pytest

from tests.advice.compiling import compiled
from tests.advice.story import Beat, Clock, gemm, op, pointwise
from tests.build import TraceBuilder
from tracelens.advice import constants as C


def summed(shape: list[int], dims: str) -> Beat:
    return op("aten::sum", 50, shapes=[shape], dtypes=["float"], concrete=["", dims])


@pytest.mark.parametrize(("length", "kernels"), [(C.SPLIT_INNER, 1), (C.SPLIT_INNER + 1, 2)])
def test_a_long_reduction_to_one_value_takes_two_kernels(length: int, kernels: int) -> None:
    assert compiled(summed([length], "")).generated_kernels == kernels


@pytest.mark.parametrize(("columns", "kernels"), [(256, 2), (C.PLENTY_OUTER, 1)])
def test_over_many_rows_it_does_unless_there_are_results_enough(columns: int, kernels: int) -> None:
    assert compiled(summed([512, columns], "[0]")).generated_kernels == kernels


@pytest.mark.parametrize(("groups", "length", "kernels"), [(8, 256, 1), (8, 1 << 14, 2), (64, 1 << 14, 1)])
def test_so_does_a_normalisation_of_few_long_groups(groups: int, length: int, kernels: int) -> None:
    concrete = ["", "", "", "8", "128", str(groups * length // 128), str(groups), "1e-05"]
    given = {"shapes": [[8, 128, groups * length // 128]], "dtypes": ["float"], "concrete": concrete}
    moments = op("aten::native_group_norm", 50, kernel="at::native::RowwiseMomentsCUDAKernel", **given)
    assert compiled(moments, pointwise()).generated_kernels == kernels + 1


def test_the_moments_of_a_group_take_longer_the_more_a_block_goes_over() -> None:
    def moments(length: int) -> float:
        concrete = ["", "", "", "8", "128", str(64 * length // 1024), "8", "1e-05"]
        given = {"shapes": [[8, 128, 64 * length // 1024]], "dtypes": ["float"], "concrete": concrete}
        return compiled(op("aten::native_group_norm", 50, kernel="RowwiseMomentsCUDAKernel", **given)).generated

    assert moments(4 * int(C.LOOP_TURN)) - moments(int(C.LOOP_TURN)) > 3 * C.REDUCTION_LATENCY


def rows(name: str, rows: int, row: int) -> Beat:
    return op(name, 500, shapes=[[rows, row], [], []], dtypes=["float", "Scalar", ""], concrete=["", "[1]", ""])


@pytest.mark.parametrize(
    ("name", "kernels"), [("aten::amax", 2), ("aten::_softmax", 4), ("aten::argmax", 1), ("aten::_log_softmax", 4)]
)
def test_few_long_rows_are_reduced_in_stages_like_one_value(name: str, kernels: int) -> None:
    few, many = ((C.PLENTY_INNER - 1, 1 << 15), (C.PLENTY_INNER, 1 << 15))
    assert compiled(rows(name, *few)).generated_kernels == kernels
    assert compiled(rows(name, *many)).generated_kernels == 1
    assert compiled(rows(name, few[0], C.SPLIT_INNER)).generated_kernels == 1


def test_a_single_block_looks_for_each_of_few_positions() -> None:
    turns = C.REDUCTION_LATENCY / C.LOOP_TURN
    whole = op("aten::argmax", 500, shapes=[[1 << 16], [], []], dtypes=["float", "", "Scalar"])
    found, few, short = (
        compiled(whole),
        compiled(rows("aten::argmax", 4, 1 << 16)),
        compiled(rows("aten::argmax", 4, 64)),
    )
    assert found.generated_kernels == 1
    assert found.generated > turns * (1 << 16)
    assert few.generated - short.generated > turns * ((1 << 16) - C.LOOP_TURN)


@pytest.mark.parametrize(("dims", "kernels"), [("[0,2]", 2), ("[2]", 1), ("[1,2]", 1)])
def test_what_counts_is_all_that_a_result_is_made_of(dims: str, kernels: int) -> None:
    assert compiled(summed([1 << 10, 8, 1 << 10], dims)).generated_kernels == kernels


def test_what_follows_a_normalisation_in_stages_reads_again_what_that_read() -> None:
    shape = [[8, 1 << 20]]
    sum_of = op("aten::add", 500, shapes=[*shape, *shape, []], dtypes=["float", "float", "Scalar"])
    one = compiled(rows("aten::_softmax", 8, 1 << 20), rows("aten::amax", 8, 1 << 20))
    two = compiled(sum_of, rows("aten::_softmax", 8, 1 << 20), rows("aten::amax", 8, 1 << 20))
    assert two.generated > 1.8 * one.generated


def test_a_normalisations_parameters_take_a_stage_for_each_of_their_gradients() -> None:
    def backward(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("autograd::engine::evaluate_function: NativeLayerNormBackward0", clock.host, 40)
        given = {"shapes": [[512, 256], [512, 256], [], [512, 1]], "dtypes": ["float", "float", "", "float"]}
        trace.op("aten::native_layer_norm_backward", clock.host + 1, 30, **given)
        for at, kernel in ((5, "layer_norm_grad_input_kernel"), (15, "GammaBetaBackwardCUDAKernelTemplate")):
            starts = max(clock.drained, clock.host + at + 5)
            trace.launch(kernel, clock.host + at, 5, at=starts, runs=20)
            clock.streams[7] = starts + 20
        clock.host += 41

    assert compiled(gemm(5), backward, pointwise(5, 512 * 256)).generated_kernels == 4
