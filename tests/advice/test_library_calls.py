"""Which operators stay calls into libraries in compiled code, and what else stays as in eager."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.compiling import BIG, compiled, elementwise
from tests.advice.story import Beat, Clock, analysis, gemm, item, op, pointwise
from tests.build import TraceBuilder
from tracelens.advice import advise, constants
from tracelens.advice.results import Form


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


def test_recurrent_layers_are_left_to_eager() -> None:
    assert compiled(op("aten::_cudnn_rnn", 50, kernel="RNN_blockPersist"), pointwise()).untraceable


def test_complex_operators_stay_as_they_are() -> None:
    found = compiled(pointwise(), elementwise("aten::mul", 1 << 10, ["c10::complex<float>"] * 2), pointwise())
    assert (found.generated_kernels, found.library_kernels) == (2, 1)


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


@pytest.mark.parametrize(("others", "left"), [(20, 1), (80, 2)])
def test_a_single_convolution_keeps_its_layout_in_a_large_graph(others: int, left: int) -> None:
    image, types = [[8, 64, 56, 56], [64, 64]], ["c10::Half"] * 2
    names = ("cudnn::nchwToNhwcKernel", "sm90_xmma_fprop_implicit_gemm")
    calls = [op("aten::cudnn_convolution", 20, kernel=name, shapes=image, dtypes=types) for name in names]
    convolution = inside("aten::convolution", *calls)
    assert compiled(convolution, *[pointwise()] * others).library_kernels == left


def test_a_convolution_that_is_brought_channels_last_may_become_another() -> None:
    def both(layout: str, shape: list[int]) -> Form:
        name = f"sm80_xmma_fprop_implicit_gemm_{layout}_tilesize32x32x8"
        call = op("aten::cudnn_convolution", 20, kernel=name, shapes=[shape], dtypes=["float"])
        return advise(analysis(*[call] * 10)).forms["both"]

    image = [8, 64, 56, 56]
    last, first, voxels = both("nhwckrsc_nhwc", image), both("nchwkcrs_nchw", image), both("nchwkcrs_nchw", [2, *image])
    assert first.step_ms == last.step_ms
    assert first.low is not None
    assert last.low is not None
    assert first.low < 0.6 * last.low
    assert voxels.low is not None
    assert voxels.low > 0.9 * last.low


def test_a_convolution_over_one_dimension_keeps_its_layout() -> None:
    def asked(shape: list[int]) -> int:
        def around(trace: TraceBuilder, clock: Clock, step: int) -> None:
            del step
            trace.op("aten::convolution", clock.host - 1, 25, shapes=[shape], dtypes=["float"])

        given = {"shapes": [[8, 64, 1, 512]], "dtypes": ["float"]}
        return compiled(
            around, op("aten::cudnn_convolution", 20, kernel="cudnn::nchwToNhwcKernel", **given), pointwise()
        ).library_kernels

    assert (asked([8, 64, 512]), asked([8, 64, 1, 512])) == (1, 0)


def test_what_the_engine_of_gradients_adds_up_is_not_compiled() -> None:
    def adds(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.op("torch::autograd::AccumulateGrad", clock.host - 1, 21.5)

    assert compiled(pointwise(), adds, pointwise(), pointwise()).library_kernels == 1


def test_norms_of_a_list_of_gradients_stay_a_call() -> None:
    norms = op("aten::_foreach_norm", 5, shapes=[[[256], [256]]], dtypes=["TensorList"])
    assert compiled(pointwise(), norms, pointwise()).library_kernels == 1


def test_the_angle_of_complex_numbers_is_generated() -> None:
    assert compiled(elementwise("aten::angle", BIG, ["c10::complex<float>"])).library_kernels == 0


def test_the_sign_of_complex_numbers_is_made_of_several_calls() -> None:
    sign, given = compiled(elementwise("aten::sgn", BIG, ["c10::complex<float>"])), ["float"]
    assert (sign.library_kernels, sign.further_calls) == (1 + constants.SIGN_KERNELS, constants.SIGN_KERNELS)
    assert sign.library == pytest.approx(constants.SIGN_TIME * 100e3)
    assert sign.library_spacing == pytest.approx(sign.library_kernels * constants.NODE_SPACING)
    assert compiled(elementwise("aten::sgn", BIG, given)).library_kernels == 0


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


def test_only_products_that_lose_their_bias_may_be_other_kernels_in_compiled_code() -> None:
    def low(last: Beat) -> float:
        product = op("aten::addmm", 500, shapes=[[512], [4096, 512], [512, 512], [], []], dtypes=["float"] * 3)
        both = advise(analysis(*[product, last] * 10)).forms["both"]
        return (both.low or 0) / (both.step_ms or 1)

    assert low(pointwise(2, size=4096 * 512)) < 0.7
    assert low(op("aten::sort", 2, kernel="sortKernel")) > 0.93


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
