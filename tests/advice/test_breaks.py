"""Where the fusion model begins another kernel."""

from __future__ import annotations

import pytest

from tests.advice.cases.beats import inside
from tests.advice.compiling import BIG, compiled, elementwise, reduction
from tests.advice.story import Beat, gemm, op, pointwise


def test_a_row_reduction_fuses_and_a_full_one_splits() -> None:
    row = [pointwise(), reduction(1 << 16, "[-1]"), pointwise()]
    full = [pointwise(), reduction(1 << 16, "[]"), pointwise()]
    assert compiled(*row).generated_kernels == 1
    assert compiled(*full).generated_kernels == 3


@pytest.mark.parametrize(("rows", "kernels"), [(128, 2), (256, 3)], ids=["at once", "in stages"])
def test_a_reduction_over_leading_dimensions_is_a_kernel_of_its_own(rows: int, kernels: int) -> None:
    assert compiled(pointwise(), reduction(rows * 256, "[0]"), pointwise()).generated_kernels == kernels


def test_reductions_of_one_tensor_share_a_kernel() -> None:
    apart = compiled(reduction(BIG, "[0]", 50), gemm(50), reduction(BIG, "[0]", 50))
    together = compiled(reduction(BIG, "[0]", 50), reduction(BIG, "[0]", 50))
    assert together.generated_kernels < apart.generated_kernels
    assert together.generated < 0.7 * apart.generated


def test_a_reduction_behind_another_joins_it_unless_the_way_there_reads_what_that_gave() -> None:
    def behind(shapes: list[list[int]], rows: bool = False) -> int:
        between = op("aten::mul", 50, shapes=shapes, dtypes=["float"] * 2)
        sums = (reduction(BIG, "[0]", 50), between, reduction(BIG, "[0]", 50))
        return compiled(*[reduction(BIG, "[-1]")][: int(rows)], *sums).generated_kernels

    whole = [BIG // 256, 256]
    assert behind([whole, whole]) == 2
    assert behind([whole, whole], rows=True) == 3
    assert behind([whole, [256]]) == 4


@pytest.mark.parametrize(
    ("around", "rows", "kernels"), [("logsumexp", 128, 2), ("softmin", 128, 3), ("logsumexp", 256, 5)]
)
def test_the_reductions_of_one_logsumexp_over_leading_dimensions_share_a_kernel(
    around: str, rows: int, kernels: int
) -> None:
    most = op("aten::amax", 5, shapes=[[rows, 256]], dtypes=["float"], concrete=["", "[0]", "True"])
    below = op("aten::sub", 5, shapes=[[rows, 256], [1, 256]], dtypes=["float"] * 2)
    inner = most, below, reduction(rows * 256, "[0]")
    assert compiled(inside(f"aten::{around}", *inner), pointwise(5, 256)).generated_kernels == kernels


def test_no_kernel_reduces_along_rows_and_over_leading_dimensions() -> None:
    assert compiled(reduction(1 << 15, "[-1]"), pointwise(), reduction(1 << 15, "[0]")).generated_kernels == 2


def test_what_a_stencil_made_is_stored_before_the_next_reads_it_shifted() -> None:
    shift = elementwise("aten::roll", BIG, ["float"])
    stencil = [shift, shift, pointwise(100, BIG), shift, pointwise(100, BIG), *[pointwise(100, BIG)] * 4]
    assert compiled(*stencil).generated_kernels == 1
    assert compiled(*stencil * 3).generated_kernels == 3


def test_what_a_reduction_along_rows_gave_is_stored_before_it_is_gathered() -> None:
    given = {"shapes": [[256, 256], [[512]]], "dtypes": ["float", "TensorList"]}
    gather = op("aten::index", 20, **given)
    norm = op("aten::native_layer_norm", 20, shapes=[[256, 256]], dtypes=["float"])
    assert compiled(gather, gather, norm).generated_kernels == 1
    assert compiled(norm, gather, gather, pointwise(5, 512 * 256)).generated_kernels == 2


def test_copies_into_other_layouts_give_a_tensor_and_a_kernel_each() -> None:
    layout, cast = (elementwise("aten::copy_", BIG, ["float", source]) for source in ("float", "c10::Half"))
    assert compiled(gemm(50), layout, layout, gemm(50)).generated_kernels == 2
    assert compiled(gemm(50), pointwise(), layout, gemm(50)).generated_kernels == 1
    assert compiled(gemm(50), cast, cast, gemm(50)).generated_kernels == 1


def test_what_is_padded_stays_in_the_kernel_that_made_it() -> None:
    forces = elementwise_of("mul", [64, 63])
    fill, copy = elementwise_of("fill_", [64, 64]), elementwise_of("copy_", [64, 63], [64, 63])
    pull = elementwise_of("add", [64, 64], [64, 64])
    assert compiled(forces, inside("aten::constant_pad_nd", fill, copy), pull).generated_kernels == 1
    assert compiled(forces, fill, copy, pull).generated_kernels == 2


def test_a_gate_is_computed_where_it_is_used() -> None:
    def layer(into: int) -> tuple[Beat, ...]:
        shapes = {"shapes": [[8, into], [into, 2048]], "dtypes": ["float"] * 2}
        product = op("aten::mm", 20, kernel="gemm", **shapes)
        both = {"shapes": [[8, 2048]] * 2, "dtypes": ["float"] * 2}
        return product, op("aten::silu", 5, shapes=[[8, 2048]], dtypes=["float"]), product, op("aten::mul", 5, **both)

    assert compiled(*layer(512)).generated_kernels == 1
    assert compiled(*layer(2048)).generated_kernels == 2


def test_loops_of_other_lengths_on_streams_side_by_side_are_kernels_of_their_own() -> None:
    def on(stream: int, size: int) -> Beat:
        shapes = {"shapes": [[size], [size], []], "dtypes": ["float", "float", "Scalar"]}
        return op("aten::add", 500, stream=stream, **shapes)

    assert compiled(on(7, BIG), on(8, 2 * BIG)).generated_kernels == 2
    assert compiled(on(7, BIG), on(8, BIG)).generated_kernels == 1
    assert compiled(on(7, BIG), on(7, 2 * BIG)).generated_kernels == 1


def test_work_on_more_than_a_reduction_along_rows_read_is_a_loop_of_its_own() -> None:
    assert compiled(reduction(1 << 16, "[-1]"), pointwise(5, 1 << 16), pointwise(5, 1 << 16)).generated_kernels == 1
    assert compiled(reduction(1 << 16, "[-1]"), pointwise(5, 1 << 18), pointwise(5, 1 << 18)).generated_kernels == 2


def test_what_is_read_in_parts_and_whole_beside_what_they_gave_is_stored_before() -> None:
    def greyed(channels: int, *, beside: bool) -> int:
        whole, part = [8, channels, 64, 64], [8, 1, 64, 64]
        light = [elementwise_of("mul", part, part)] * 5
        mixed = elementwise_of("lerp", part, whole) if beside else elementwise_of("mul", whole, whole)
        view = [elementwise_of("mul", whole, whole), *light, mixed]
        return compiled(*view * 2).generated_kernels

    assert greyed(3, beside=True) == 3
    assert greyed(3, beside=False) == greyed(7, beside=True) == 1


def elementwise_of(name: str, *shapes: list[int]) -> Beat:
    return op(f"aten::{name}", 50, shapes=list(shapes), dtypes=["float"] * len(shapes))
