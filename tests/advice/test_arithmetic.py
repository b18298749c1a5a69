"""What generated code spends on functions of single elements."""

from __future__ import annotations

import pytest

from tests.advice.compiling import BIG, compiled, elementwise
from tests.advice.story import Beat, gemm, op, pointwise
from tracelens.advice import constants as C


def of(name: str, *sizes: int) -> Beat:
    return op(name, 100, shapes=[*([size] for size in sizes), []], dtypes=["float"] * len(sizes) + ["Scalar"])


def generated(beat: Beat) -> float:
    """ns of the kernel made of many such calls."""
    return compiled(*[beat] * 12, pointwise(100, BIG)).generated


def test_a_division_by_a_number_is_a_product() -> None:
    assert generated(of("aten::div", BIG)) == generated(of("aten::mul", BIG))


def test_a_division_by_a_tensor_takes_its_reciprocal() -> None:
    quotients = generated(of("aten::div", BIG, 1 << 10))
    assert quotients == generated(of("aten::reciprocal", BIG)) > generated(of("aten::mul", BIG, 1 << 10))


def test_a_reciprocal_takes_less_than_an_exponential() -> None:
    assert generated(of("aten::reciprocal", BIG)) < generated(of("aten::exp", BIG))


ORDER = ["mul", "rsqrt", "exp", "sigmoid", "silu", "log", "erf", "gelu", "lgamma", "mish", "atan2", "native_dropout"]


def test_functions_take_as_long_as_their_code() -> None:
    times = [generated(of(f"aten::{name}", BIG)) for name in ORDER]
    assert times == sorted(times)
    assert len(set(times)) == len(ORDER)


@pytest.mark.parametrize(
    ("name", "alike"),
    [("exp_", "exp"), ("elu_backward", "log"), ("relu", "mul"), ("leaky_relu", "mul"), ("bernoulli_", "native_dropout"),
     ("atanh", "asinh"),
     ("hardtanh", "mul"),
     ("hardsigmoid", "mul"),
     ("erfinv", "silu"),
     ("logit", "log"),
     ("native_dropout_backward", "mul")],
)  # fmt: skip
def test_a_function_is_known_by_its_name(name: str, alike: str) -> None:
    assert generated(of(f"aten::{name}", BIG)) == generated(of(f"aten::{alike}", BIG))


def test_functions_take_longer_beside_many_others() -> None:
    few, many = (compiled(*[of("aten::atan2", BIG)] * calls).generated for calls in (2, 3))
    assert few == pytest.approx(2 * 2.1e-3 * BIG)
    assert many == pytest.approx(1.3 * 3 * 2.1e-3 * BIG)


def summed(row: int) -> float:
    """ns of the kernel that sums rows of that length, of exponentials."""
    shape = [[BIG // row, row]]
    sums = op(
        "aten::sum", 500, shapes=[*shape, [], []], dtypes=["float", "ScalarList", ""], concrete=["", "[-1]", "False"]
    )
    return compiled(*[op("aten::exp", 500, shapes=shape, dtypes=["float"])] * 12, sums).generated


def test_a_row_that_takes_a_whole_block_makes_its_functions_longer() -> None:
    assert summed(512) == pytest.approx(C.WIDE_ROW_ARITHMETIC * summed(128), rel=0.02)


def pooled(window: int, step: str) -> float:
    """Of a pooling in its own windows beside work of the same size."""
    size = f"[{window}, {window}]"
    pool = op("aten::avg_pool2d", 5_000, shapes=[[1, 1, BIG >> 10, 1 << 10], [], []], concrete=["", size, step])
    return compiled(pool, *[pointwise(500, BIG)] * 2).generated


def test_a_pooling_reads_each_element_for_all_the_windows_that_it_is_in() -> None:
    more = pooled(7, "[1, 1]") - pooled(5, "[1, 1]")
    assert more == pytest.approx((49 - 25) * C.WINDOW_READ * BIG, rel=0.01)
    assert pooled(4, "[]") == pooled(2, "[2, 2]") < pooled(9, "[2]") < pooled(9, "[1]")


def tabled(name: str, readers: int, *, size: int = 1 << 12) -> float:
    """Of work that reads what sines or something else of a small tensor gave."""
    table = op(f"aten::{name}", 1, shapes=[[size]], dtypes=["float"])
    reader = op("aten::mul", 20, shapes=[[1 << 10, 1 << 12], [1 << 12]], dtypes=["float", "float"])
    product = gemm(5)
    return compiled(table, table, product, *[reader] * readers, product).generated


def test_sines_are_computed_anew_for_each_element_that_reads_them() -> None:
    each = (0.85e-3 + C.PLAIN_OPERATOR) * (1 << 22)
    assert tabled("sin", 16) - tabled("sin", 8) == pytest.approx(8 * each, rel=0.01)
    assert tabled("sin", 8, size=1 << 11) == pytest.approx(tabled("exp", 8, size=1 << 11), rel=0.01)


def powers(by: str) -> float:
    """Of three powers by that number, or by a tensor where it is none."""
    power = elementwise("aten::pow", BIG, ["float"] * (1 + (not by)), 80, concrete=["", by])
    return compiled(*[power] * 3, pointwise(40, BIG)).generated


@pytest.mark.parametrize("by", ["2.2", "0.28539999999999999", "-0.40000000000000002"])
def test_a_power_by_a_broken_number_is_a_function_of_the_library(by: str) -> None:
    assert powers(by) == pytest.approx(C.AMONG_OTHERS * (3 * C.BROKEN_POWER + C.PLAIN_OPERATOR) * BIG, rel=0.01)
    assert powers(by) > 2 * max(powers("2"), powers("0.5"))


def test_a_power_by_a_tensor_is_slower_than_one_by_a_number() -> None:
    assert powers("") > 1.3 * powers("2.2")


def normalised(kernel: str) -> float:
    """Of normalisations of batches that launch a kernel of that name."""
    shapes = [[BIG >> 10, 1 << 10], *[[1 << 10]] * 4]
    norm = op("aten::native_batch_norm", 100, kernel=kernel, shapes=shapes, dtypes=["float"] * 5)
    return generated(norm)


def test_a_normalisation_with_fixed_statistics_takes_a_root_and_a_reciprocal_for_each_element() -> None:
    fixed, plain = normalised("batch_norm_transform_input_channels_last_kernel"), generated(of("aten::mul", BIG))
    assert fixed > plain
    assert fixed == pytest.approx(generated(of("aten::exp", BIG)) + generated(of("aten::reciprocal", BIG)), rel=0.1)


@pytest.mark.parametrize("name", ["softplus", "log_sigmoid_forward"])
def test_the_logarithm_of_an_exponential_is_two_functions(name: str) -> None:
    plain, exponential, logarithm = (generated(of(f"aten::{each}", BIG)) for each in ("mul", "exp", "log1p"))
    both, own = exponential + logarithm, generated(of(f"aten::{name}", BIG))
    assert both - plain < own < both
    assert exponential < generated(of("aten::log_sigmoid_backward", BIG)) < own
