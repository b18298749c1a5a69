"""Which operators become one kernel of generated code."""

from __future__ import annotations

import pytest

from tests.advice.compiling import BIG, compiled, elementwise, reduction
from tests.advice.story import Beat, Clock, gemm, op, pointwise
from tests.build import TraceBuilder


def test_a_chain_of_pointwise_operators_becomes_one_kernel() -> None:
    found = compiled(*[pointwise(50, BIG)] * 12)
    assert (found.generated_kernels, found.library_kernels) == (1, 0)
    assert found.generated < found.replaced_ns / 5


def test_gathers_from_tables_of_other_rows_fuse_with_none() -> None:
    def gather(row: int) -> Beat:
        return op("aten::embedding", 40, shapes=[[64, row], [BIG // row]], dtypes=["float", "long int"])

    rest = (gemm(30), pointwise(5))
    one, two = compiled(gather(512), *rest), compiled(gather(512), gather(1024), *rest)
    assert two.generated_kernels == one.generated_kernels + 1
    assert two.generated > 1.9 * one.generated
    alike = compiled(gather(512), gather(512), *rest)
    assert alike.generated_kernels == one.generated_kernels, "of one table perhaps"


def test_without_shapes_a_chain_still_fuses_and_says_that_it_is_unsure() -> None:
    found = compiled(*[op("aten::add", 40)] * 8)
    assert found.generated_kernels == 1
    assert not found.certain


def group_norm(runs: float = 10.0) -> list[Beat]:
    """The kernels of aten::native_group_norm: moments, their combination, and the normalisation."""
    shapes = {"shapes": [[8, 64, 32, 32]], "dtypes": ["float"]}
    kernels = ("RowwiseMomentsCUDAKernel", "ComputeFusedParamsCUDAKernel", "elementwise_kernel")
    return [op("aten::native_group_norm", runs, kernel=kernel, **shapes) for kernel in kernels]


def test_a_group_norm_reduces_first_and_normalises_with_what_follows() -> None:
    assert compiled(pointwise(size=1 << 19), *group_norm(), pointwise(size=1 << 19)).generated_kernels == 3


def test_copies_on_the_device_fuse() -> None:
    copy = op("aten::copy_", 5, kernel="Memcpy DtoD (Device -> Device)", shapes=[[1 << 10]] * 2, dtypes=["float"] * 2)
    assert compiled(pointwise(), copy, pointwise()).generated_kernels == 1


@pytest.mark.parametrize(("kept", "kernels"), [(95, 1), (85, 2)])
def test_differences_of_neighbours_are_computed_with_their_source(kept: int, kernels: int) -> None:
    source, change = pointwise(50, BIG), elementwise("aten::sub", kept * BIG // 100, ["float"] * 2)
    assert compiled(source, change).generated_kernels == kernels


def test_slices_are_computed_with_their_source() -> None:
    assert compiled(pointwise(100, 3 * BIG), pointwise(40, BIG), pointwise(40, BIG)).generated_kernels == 1
    assert compiled(pointwise(100, 7 * BIG), pointwise(40, BIG), pointwise(40, BIG)).generated_kernels == 2


def test_a_scatter_into_a_filled_tensor_is_no_scatter() -> None:
    given = {"shapes": [[256, 1000]], "dtypes": ["long int"]}
    fill, scatter = op("aten::fill_", 5, **given), op("aten::scatter_", 5, **given)
    assert compiled(fill, scatter, pointwise(5, 256_000)).generated_kernels == 1
    assert compiled(pointwise(5, 256_000), scatter, pointwise(5, 256_000)).generated_kernels > 1


def test_single_values_are_computed_where_they_are_used() -> None:
    single = op("aten::div", 1.5, shapes=[[], []], dtypes=["float", "float"])
    assert compiled(pointwise(), reduction(1 << 16, "[]"), single, single).generated_kernels == 2
    assert compiled(single, single).generated_kernels == 1


def test_a_norm_names_its_dimensions_after_its_order() -> None:
    def norm(dims: str) -> Beat:
        given = {"shapes": [[256, 256], [], [], [], []], "dtypes": ["float", "Scalar", "ScalarList", "Scalar", ""]}
        kernel = "at::native::reduce_kernel"
        return op("aten::linalg_vector_norm", 5, kernel=kernel, concrete=["", "2", dims, "False", ""], **given)

    assert compiled(pointwise(), norm("[-1]"), pointwise()).generated_kernels == 1
    assert compiled(pointwise(), norm(""), pointwise()).generated_kernels == 3


def test_what_a_foreach_operator_calls_is_one_of_its_run() -> None:
    def around(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("aten::_foreach_div_", clock.host - 1, 21.5)

    foreach = op("aten::_foreach_add_", 20, shapes=[[[BIG], [BIG]]], dtypes=["TensorList"])
    assert compiled(foreach, around, pointwise(20, BIG), foreach).generated_kernels == 1
    assert compiled(foreach, pointwise(20, BIG), foreach).generated_kernels == 3


@pytest.mark.parametrize(("row", "kernels"), [(7, 1), (8, 2)])
def test_reductions_of_few_elements_are_written_out(row: int, kernels: int) -> None:
    given = {"shapes": [[1 << 7, row]], "dtypes": ["float"], "concrete": ["", "[-1]"]}
    column = {"shapes": [[1 << 7, row]], "dtypes": ["float"], "concrete": ["", "[0]"]}
    assert compiled(op("aten::sum", 50, **given), op("aten::sum", 50, **column)).generated_kernels == kernels


def test_many_products_write_into_their_concatenation() -> None:
    joined = {"shapes": [[[256, 64]] * 12, []], "dtypes": ["TensorList", "Scalar"]}
    products = [gemm(5), gemm(6)] * 6
    assert compiled(*products, op("aten::cat", 5, **joined)).generated_kernels == 0
    assert compiled(*products[1:], op("aten::cat", 5, **joined)).generated_kernels == 12


def test_many_single_values_are_copied_into_their_concatenation() -> None:
    def stacked(count: int) -> int:
        joined = {"shapes": [[[1]] * count, []], "dtypes": ["TensorList", "Scalar"]}
        return compiled(gemm(5), op("aten::cat", 2, **joined), pointwise(5)).generated_kernels

    assert (stacked(8), stacked(9)) == (1, 9)


def test_gradients_of_parts_are_placed_in_one_kernel() -> None:
    def part(trace: TraceBuilder, clock: Clock, step: int) -> None:
        trace.op("aten::select_backward", clock.host - 1, 24)
        elementwise("aten::copy_", BIG // 3, ["float"])(trace, clock, step)

    whole = [elementwise("aten::fill_", BIG // 3 * 3, ["float"]), part]
    addition = elementwise("aten::add", BIG // 3 * 3, ["float"] * 2)
    assert compiled(*whole, *whole, addition).generated_kernels == 1


def test_few_numbers_worked_out_on_the_way_are_inlined() -> None:
    small = [pointwise(2, 64)] * 2
    scale = op("aten::mul", 50, shapes=[[1 << 12, 64], [64]], dtypes=["float", "float"])
    assert compiled(pointwise(20, 1 << 18), *small, scale).generated_kernels == 1
    assert compiled(pointwise(20, 1 << 18), *small).generated_kernels == 2


@pytest.mark.parametrize(("dims", "kernels"), [("[2, 3]", 2), ("[3]", 1)])
def test_a_mean_over_planes_after_convolutions_is_over_leading_dimensions(dims: str, kernels: int) -> None:
    given = {"shapes": [[1, 64, 14, 14]], "dtypes": ["float"]}
    convolution = op("aten::cudnn_convolution", 5, kernel="cutlass_tensorop_s1688gemm", **given)
    assert compiled(convolution, op("aten::mean", 9, concrete=["", dims], **given)).generated_kernels == kernels


def test_sorting_the_indices_of_a_scatter_is_no_kernel() -> None:
    def scatter(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        given = {"shapes": [[512, 256], [512]], "dtypes": ["float", "long int"]}
        trace.op("aten::embedding_dense_backward", clock.host, 40, **given)
        for at, kernel in enumerate(("DeviceRadixSortOnesweep", "DeviceRadixSortOnesweep", "sum_and_scatter")):
            starts = max(clock.drained, clock.host + 10 * at + 5)
            trace.launch(kernel, clock.host + 10 * at + 1, 5, at=starts, runs=4)
            clock.streams[7] = starts + 4
        clock.host += 41

    assert compiled(scatter).generated_kernels == 2
