"""Matrix products with odd dimensions."""

from __future__ import annotations

import pytest

from tests.advice.compiling import compiled
from tests.advice.story import Beat, op
from tracelens.advice import constants as C

NARROW = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_nn_align2"
WIDE = "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_nn_align8"
START = C.PRODUCT_START / 1e3


def product(
    runs: float, rows: int, inner: int, columns: int, dtype: str = "c10::BFloat16", kernel: str = NARROW
) -> Beat:
    given = {"shapes": [[rows, inner], [inner, columns]], "dtypes": [dtype, dtype]}
    return op("aten::mm", runs, kernel=kernel, **given)


def library(*beats: Beat) -> float:
    return compiled(*beats).library / 1e3


@pytest.mark.parametrize("columns", [4095, 4098])
def test_an_odd_product_runs_at_the_rate_of_even_ones_and_copies_its_second_matrix(columns: int) -> None:
    even, odd = product(100, 4096, 4096, 4096, kernel=WIDE), product(300, 4096, 4096, columns)
    padded = library(even, odd) - 100
    arithmetic = START + (100 - START) * columns / 4096
    assert arithmetic + 5 < padded < arithmetic + 40


def test_of_an_odd_first_matrix_only_the_padding_is_written() -> None:
    takes = START + C.PADDING_COPY / 1e3 + 2e-3 * 4096**2 * 4095 / C.DENSE_RATE
    assert library(product(900, 4095, 4096, 4096)) == pytest.approx(takes)


@pytest.mark.parametrize(
    "kernel", [WIDE, "nvjet_sm90_tst_64x72_64x12_2x4_h_bz_bias_TNT", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn"]
)
def test_odd_rows_that_lie_across_the_memory_gain_nothing(kernel: str) -> None:
    assert library(product(900, 4095, 4096, 4096, kernel=kernel)) == pytest.approx(900)


@pytest.mark.parametrize("runs", [3.5, 4.4])
def test_a_small_product_gains_nothing_below_what_any_takes_to_start(runs: float) -> None:
    assert library(product(runs, 844, 512, 511)) == pytest.approx(runs)


def test_small_even_products_do_not_tell_the_rate() -> None:
    small = product(4, 512, 512, 512, kernel=WIDE)
    assert library(small, product(900, 4095, 4096, 4096)) == pytest.approx(library(product(900, 4095, 4096, 4096)) + 4)


@pytest.mark.parametrize(
    ("runs", "shape", "dtype"),
    [
        (105, (4096, 4096, 4095), "c10::BFloat16"),
        (300, (4096, 4096, 4096), "c10::BFloat16"),
        (300, (4096, 64, 4095), "c10::BFloat16"),
        (300, (4096, 4096, 4095), "float"),
    ],
)
def test_products_that_padding_does_not_gain_on_stay(runs: float, shape: tuple[int, int, int], dtype: str) -> None:
    even = product(100, 4096, 4096, 4096, kernel=WIDE)
    assert library(even, product(runs, *shape, dtype)) == pytest.approx(100 + runs)
