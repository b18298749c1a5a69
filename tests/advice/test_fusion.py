"""What the fusion model makes of operator sequences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.advice.story import Beat, Clock, analysis, gemm, item, op, pointwise
from tests.build import TraceBuilder
from tracelens.advice.facts import find_facts
from tracelens.advice.fusion import Compiled, compile_device
from tracelens.advice.region import find_region

BIG = 1 << 24


def compiled(*beats: Beat) -> Compiled:
    region = find_region(analysis(*beats))
    assert region is not None
    return compile_device(find_facts(region))


def reduction(size: int, dims: str, runs: float = 5.0) -> Beat:
    shapes = {"shapes": [[size // 256, 256], [], [], []], "dtypes": ["float", "ScalarList", "Scalar", ""]}
    return op("aten::sum", runs, kernel="at::native::reduce_kernel", concrete=["", dims, "False", ""], **shapes)


def test_a_chain_of_pointwise_operators_becomes_one_kernel() -> None:
    found = compiled(*[pointwise(50, BIG)] * 12)
    assert (found.generated_kernels, found.library_kernels) == (1, 0)
    assert found.generated < found.replaced_ns / 5


@pytest.mark.parametrize("shapes", [[[BIG], [BIG], []], None], ids=["sized", "unsized"])
def test_a_kernel_with_nothing_to_join_keeps_its_time(shapes: list[list[int]] | None) -> None:
    alone = {} if shapes is None else {"shapes": shapes, "dtypes": ["float", "float", "Scalar"]}
    found = compiled(op("aten::add", 500, **alone))
    assert found.generated == pytest.approx(500_000)


def test_kernels_that_join_move_less_than_before() -> None:
    assert compiled(*[pointwise(500, BIG)] * 2).generated < 500_000


def test_a_step_of_memsets_alone_stays() -> None:
    def memset(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        starts = max(clock.drained, clock.host + 8)
        trace.op("aten::zero_", clock.host, 8).memset(clock.host + 1, 5, at=starts, runs=5)
        clock.host += 9
        clock.streams[7] = starts + 5

    found = compiled(*[memset] * 10)
    assert found.library == pytest.approx(50_000)
    assert compiled(*[memset] * 10, pointwise()).library == 0


def test_library_kernels_stay_and_split_chains() -> None:
    found = compiled(*[pointwise(), pointwise(), gemm(50, 1 << 5)] * 3)
    assert (found.generated_kernels, found.library_kernels) == (3, 3)
    assert found.library == pytest.approx(150_000)
    assert len(found.library_calls) == 3


def test_operators_unknown_to_the_compiler_stay() -> None:
    assert compiled(pointwise(), op("mylib::rope", 10, kernel="rope_kernel"), pointwise()).library_kernels == 1


def test_without_shapes_a_chain_still_fuses_and_says_that_it_is_unsure() -> None:
    found = compiled(*[op("aten::add", 40)] * 8)
    assert found.generated_kernels == 1
    assert not found.certain


def test_recurrent_layers_are_left_to_eager() -> None:
    assert compiled(op("aten::_cudnn_rnn", 50, kernel="RNN_blockPersist"), pointwise()).untraceable


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0.8, 200.0), st.sampled_from([1, 1 << 10, 1 << 20])), min_size=1, max_size=12))
def test_a_fused_chain_is_never_slower_than_its_eager_kernels(kernels: list[tuple[float, int]]) -> None:
    found = compiled(*[pointwise(runs, size) for runs, size in kernels])
    assert 0 < found.generated <= found.replaced_ns * (1 + 1e-9)
    assert 1 <= found.generated_kernels <= len(kernels)


def group_norm(runs: float = 10.0) -> list[Beat]:
    """The kernels of aten::native_group_norm: moments, their combination, and the normalisation."""
    shapes = {"shapes": [[8, 64, 32, 32]], "dtypes": ["float"]}
    kernels = ("RowwiseMomentsCUDAKernel", "ComputeFusedParamsCUDAKernel", "elementwise_kernel")
    return [op("aten::native_group_norm", runs, kernel=kernel, **shapes) for kernel in kernels]


def elementwise(
    name: str, size: int, dtypes: list[str], runs: float = 100.0, concrete: list[str] | None = None
) -> Beat:
    return op(name, runs, shapes=[[size]] * len(dtypes), dtypes=dtypes, concrete=concrete or [""] * len(dtypes))


def test_a_group_norm_reduces_first_and_normalises_with_what_follows() -> None:
    assert compiled(pointwise(size=1 << 19), *group_norm(), pointwise(size=1 << 19)).generated_kernels == 3


def test_complex_operators_stay_as_they_are() -> None:
    found = compiled(pointwise(), elementwise("aten::mul", 1 << 10, ["c10::complex<float>"] * 2), pointwise())
    assert (found.generated_kernels, found.library_kernels) == (2, 1)


def test_copies_on_the_device_fuse() -> None:
    copy = op("aten::copy_", 5, kernel="Memcpy DtoD (Device -> Device)", shapes=[[1 << 10]] * 2, dtypes=["float"] * 2)
    assert compiled(pointwise(), copy, pointwise()).generated_kernels == 1


def test_a_square_costs_no_power_function() -> None:
    square, power = (elementwise("aten::pow", BIG, ["float"], concrete=["", by]) for by in ("2", "2.37"))
    chain = [pointwise(100, BIG)] * 2
    assert compiled(*[square] * 12, *chain).generated < compiled(*[power] * 12, *chain).generated


def test_a_cast_moves_bytes_of_both_types() -> None:
    narrow, wide = (elementwise("aten::copy_", BIG, ["float", source]) for source in ("unsigned char", "double"))
    assert compiled(narrow).generated < 0.6 * compiled(wide).generated


def test_slices_are_computed_with_their_source() -> None:
    assert compiled(pointwise(100, 3 * BIG), pointwise(40, BIG), pointwise(40, BIG)).generated_kernels == 1
    assert compiled(pointwise(100, 7 * BIG), pointwise(40, BIG), pointwise(40, BIG)).generated_kernels == 2


def test_what_is_taken_apart_is_not_stored() -> None:
    whole = elementwise("aten::copy_", 3 * BIG, ["float", "unsigned char"], 400.0)
    part, other = pointwise(140, BIG), pointwise(60, BIG // 7)
    assert compiled(whole, part).generated < 0.6 * compiled(whole, whole).generated
    assert compiled(whole, other).generated > 0.9 * compiled(whole, whole).generated


def test_a_logarithm_takes_longer_than_an_exponential() -> None:
    chains = [[pointwise(200, BIG), *[elementwise(f"aten::{name}", BIG, ["float"])] * 12] for name in ("log1p", "exp")]
    logarithms, exponentials = (compiled(*chain).generated for chain in chains)
    assert logarithms > 1.5 * exponentials


def test_a_scatter_into_a_filled_tensor_is_no_scatter() -> None:
    given = {"shapes": [[256, 1000]], "dtypes": ["long int"]}
    fill, scatter = op("aten::fill_", 5, **given), op("aten::scatter_", 5, **given)
    assert compiled(fill, scatter, pointwise(5, 256_000)).generated_kernels == 1
    assert compiled(pointwise(5, 256_000), scatter, pointwise(5, 256_000)).generated_kernels > 1


def test_long_rows_are_read_again_for_each_reduction() -> None:
    def rows(length: int) -> list[Beat]:
        of = {"shapes": [[BIG // length, length]], "dtypes": ["float"]}
        return [op("aten::mean", 100, kernel="at::native::reduce_kernel", concrete=["", "[-1]"], **of)] * 6

    assert compiled(*rows(4096)).generated > compiled(*rows(512)).generated


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


def test_a_cast_reads_only_its_source() -> None:
    cast, addition = (elementwise(name, BIG, ["float"] * 2) for name in ("aten::copy_", "aten::add"))
    after = elementwise("aten::abs", BIG, ["float"])
    assert compiled(cast, after).generated < compiled(addition, after).generated


TABLE = [30_000, 512]
READS = {
    "embedding": ("aten::embedding", [TABLE, [64, 128], [], [], []], ["float", "long int", "Scalar", "", ""]),
    "index_select": ("aten::index_select", [TABLE, [], [64 * 128]], ["float", "Scalar", "long int"]),
    "gather": ("aten::gather", [TABLE, [], [64 * 128, 512], []], ["float", "Scalar", "long int", "Scalar"]),
}


@pytest.mark.parametrize(("name", "shapes", "dtypes"), READS.values(), ids=READS.keys())
def test_rows_of_a_table_fuse_with_work_on_them(name: str, shapes: list[list[int]], dtypes: list[str]) -> None:
    rows = op(name, 10, kernel="at::native::indexSelectLargeIndex", shapes=shapes, dtypes=dtypes)
    found = compiled(rows, pointwise(20, 64 * 128 * 512))
    assert found.generated_kernels == 1
    assert found.generated < compiled(pointwise(10, 30_000 * 512), pointwise(20, 64 * 128 * 512)).generated


@pytest.mark.parametrize(
    "name", ["_fused_rms_norm", "count_nonzero", "mv", "grid_sampler_2d", "linalg_vector_norm", "lgamma", "cumsum"]
)
def test_operators_that_the_compiler_generates_fuse(name: str) -> None:
    given = {"shapes": [[256, 256]], "dtypes": ["float"], "concrete": ["", "2", "[-1]"]}
    assert compiled(pointwise(), op(f"aten::{name}", 5, **given), pointwise()).library_kernels == 0


@pytest.mark.parametrize("name", ["nonzero", "_fused_adamw_", "linalg_solve_ex", "scatter_reduce", "digamma", "sort"])
def test_operators_that_the_compiler_calls_stay(name: str) -> None:
    given = {"shapes": [[256, 256]], "dtypes": ["float"]}
    assert compiled(pointwise(), op(f"aten::{name}", 5, **given), pointwise()).library_kernels == 1


@pytest.mark.parametrize(("image", "left"), [([8, 64, 56, 56], 1), ([2, 64, 16, 56, 56], 3)])
def test_only_convolutions_over_planes_keep_channels_last(image: list[int], left: int) -> None:
    names = ("cudnn::nchwToNhwcKernel", "sm90_xmma_fprop_implicit_gemm", "cudnn::nhwcToNchwKernel")
    given = {"shapes": [image, [64, 64]], "dtypes": ["c10::Half"] * 2}
    assert (
        compiled(*[op("aten::cudnn_convolution", 20, kernel=name, **given) for name in names]).library_kernels == left
    )


def test_a_convolution_over_one_dimension_keeps_its_layout() -> None:
    def asked(shape: list[int]) -> int:
        def inside(trace: TraceBuilder, clock: Clock, step: int) -> None:
            del step
            trace.op("aten::convolution", clock.host - 1, 25, shapes=[shape], dtypes=["float"])

        given = {"shapes": [[8, 64, 1, 512]], "dtypes": ["float"]}
        return compiled(
            inside, op("aten::cudnn_convolution", 20, kernel="cudnn::nchwToNhwcKernel", **given), pointwise()
        ).library_kernels

    assert (asked([8, 64, 512]), asked([8, 64, 1, 512])) == (1, 0)


def test_tensors_updated_in_place_are_each_read_and_written() -> None:
    given = {"shapes": [[BIG], [BIG], []], "dtypes": ["float", "float", "Scalar"], "concrete": ["", "", "1"]}
    fresh, kept = (compiled(*[op(name, 60, **given)] * 3) for name in ("aten::add", "aten::add_"))
    assert kept.generated == pytest.approx(7 / 3 * fresh.generated, rel=0.02)


def test_what_the_engine_of_gradients_adds_up_is_not_compiled() -> None:
    def inside(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("torch::autograd::AccumulateGrad", clock.host - 1, 21.5)

    assert compiled(pointwise(), inside, pointwise(), pointwise()).library_kernels == 1


def test_rows_too_long_for_the_cache_are_read_again_from_memory() -> None:
    def norms(length: int) -> float:
        given = {"shapes": [[(1 << 27) // length, length]], "dtypes": ["float"]}
        return compiled(*[op("aten::native_layer_norm", 900, **given)] * 2).generated

    assert norms(1 << 15) > 1.5 * norms(1 << 14)
    assert norms(1 << 14) == pytest.approx(norms(1 << 13), rel=0.05)


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


def test_norms_of_a_list_of_gradients_stay_a_call() -> None:
    norms = op("aten::_foreach_norm", 5, shapes=[[[256], [256]]], dtypes=["TensorList"])
    assert compiled(pointwise(), norms, pointwise()).library_kernels == 1


def test_an_optimizer_that_keeps_one_tensor_moves_less() -> None:
    def stepped(*names: str) -> float:
        given = {"shapes": [[[BIG], [BIG]]], "dtypes": ["TensorList"]}
        return compiled(*[op(f"aten::_foreach_{name}_", 200, **given) for name in names]).generated

    assert stepped("mul", "add", "add") < stepped("lerp", "add", "add")


def test_the_angle_of_complex_numbers_is_generated() -> None:
    assert compiled(elementwise("aten::angle", BIG, ["c10::complex<float>"])).library_kernels == 0


def linear(columns: int, kernel: str = "void gemmSN_TN_kernel<float, 128, 16>") -> Beat:
    shapes = {"shapes": [[columns], [16, 512], [512, columns], [], []], "dtypes": ["float"] * 3 + ["Scalar"] * 2}
    return op("aten::addmm", 3, kernel=kernel, **shapes)


def test_narrow_products_of_few_rows_are_slow_without_their_bias() -> None:
    after = pointwise(size=16 * 256)
    assert compiled(linear(256), linear(256), after).library == pytest.approx(2 * 29_000)
    reading, other = (
        op("aten::mm", 3, kernel="nvjet_sm90_gemm", shapes=[[16, size], [size, 64]], dtypes=["float"] * 2)
        for size in (256, 48)
    )
    assert compiled(linear(256), reading, after).library < 10_000
    assert compiled(linear(256), other, after).library == pytest.approx(32_000)
    assert compiled(linear(256, "cutlass_80_simt_sgemm"), after).library < 10_000
    assert compiled(linear(768), pointwise(size=16 * 768)).library < 10_000


def clamp(least: str, grows: int) -> Beat:
    """A clamp at a number that grows from step to step."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        bound = f"{least}{step * grows}"
        op("aten::clamp", 100, shapes=[[BIG], [], []], dtypes=["float", "Scalar", ""], concrete=["", bound, ""])(
            trace, clock, step
        )

    return tell


@pytest.mark.parametrize(
    ("beats", "left"),
    [
        ((item(), clamp("0.1", 1)), 4),
        ((item(), clamp("0.1", 0)), 1),
        ((item(), clamp("1", 1)), 1),
        ((pointwise(), clamp("0.1", 1)), 0),
    ],
    ids=["fed", "same", "whole", "not read"],
)
def test_work_after_a_wait_stays_as_it_is_where_a_number_from_it_changes(beats: tuple[Beat, Beat], left: int) -> None:
    first, second = beats
    found = compiled(pointwise(100, BIG), pointwise(100, BIG), first, pointwise(), second, pointwise())
    assert found.library_kernels == left


def test_many_plain_operators_outlast_the_traffic() -> None:
    few, many = (compiled(*[pointwise(500, BIG, shapes=[[BIG], [], []])] * count) for count in (4, 300))
    assert many.generated > 1.5 * few.generated


def picked(by_mask: bool) -> Beat:
    """Rows of a tensor picked by indices, which a mask gives first or which are given."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        trace.op("aten::index", clock.host, 60, shapes=[[BIG], [BIG]], dtypes=["float", "long int"])
        clock.host += 2
        inner = op("aten::nonzero", 5, shapes=[[BIG]], dtypes=["bool"])
        (inner if by_mask else op("aten::add", 5, shapes=[[BIG]], dtypes=["float"]))(trace, clock, step)
        starts = max(clock.drained, clock.host + 8)
        trace.launch("index_elementwise_kernel", clock.host + 1, 5, at=starts, runs=20)
        clock.host, clock.streams[7] = clock.host + 40, starts + 20

    return tell


def test_what_a_mask_picks_is_not_generated() -> None:
    assert compiled(pointwise(), picked(by_mask=True), pointwise()).library_kernels == 2
    assert compiled(pointwise(), picked(by_mask=False), pointwise()).library_kernels == 0


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


def test_the_formula_of_a_gradient_reads_what_was_stored() -> None:
    before = [elementwise("aten::neg", BIG, ["float"])] * 3
    two = ["float", "float"]
    stored = compiled(*before, elementwise("aten::silu_backward", BIG, two), elementwise("aten::add", BIG, two))
    assert stored.generated > 1.3 * compiled(*before, *[elementwise("aten::add", BIG, two)] * 2).generated


def test_a_sum_that_is_normalised_is_stored_beside() -> None:
    norm = op("aten::native_layer_norm", 90, shapes=[[BIG // 512, 512]], dtypes=["float"])
    scaled, added = (elementwise(name, BIG, ["float"] * 2) for name in ("aten::mul", "aten::add"))
    assert compiled(added, norm).generated > 1.2 * compiled(scaled, norm).generated


@pytest.mark.parametrize(("dims", "kernels"), [("[2, 3]", 2), ("[3]", 1)])
def test_a_mean_over_planes_after_convolutions_is_over_leading_dimensions(dims: str, kernels: int) -> None:
    given = {"shapes": [[1, 64, 14, 14]], "dtypes": ["float"]}
    convolution = op("aten::cudnn_convolution", 5, kernel="cutlass_tensorop_s1688gemm", **given)
    assert compiled(convolution, op("aten::mean", 9, concrete=["", dims], **given)).generated_kernels == kernels


def test_rows_read_by_unknown_indices_are_as_many_as_the_next_work_takes() -> None:
    gather = op("aten::index", 300, shapes=[[1 << 10, 512], []], dtypes=["float", ""])
    few, many = (op("aten::neg", 300, shapes=[[rows, 512]], dtypes=["float"]) for rows in (256, 1 << 16))
    assert compiled(gather, many).generated > 10 * compiled(gather, few).generated
    assert compiled(gather, gemm(5), many).generated > 10 * compiled(gather, gemm(5), few).generated


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
