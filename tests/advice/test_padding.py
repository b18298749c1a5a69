"""Matrix products with odd dimensions."""

from __future__ import annotations

import pytest

from tests.advice.story import Beat, op
from tests.advice.test_fusion import compiled
from tracelens.advice import constants as C


def product(runs: float, rows: int, inner: int, columns: int, dtype: str = "c10::BFloat16") -> Beat:
    given = {"shapes": [[rows, inner], [inner, columns]], "dtypes": [dtype, dtype]}
    return op("aten::mm", runs, kernel="cutlass_80_tensorop_bf16_s16816gemm_bf16", **given)


def library(*beats: Beat) -> float:
    return compiled(*beats).library / 1e3


@pytest.mark.parametrize("columns", [4095, 4098])
def test_an_odd_product_runs_at_the_rate_of_even_ones(columns: int) -> None:
    even, odd = product(100, 4096, 4096, 4096), product(300, 4096, 4096, columns)
    assert library(even, odd) == pytest.approx(100 + 100 * columns / 4096)


def test_without_even_ones_it_runs_at_the_rate_of_the_device() -> None:
    assert library(product(900, 4096, 4096, 4095)) == pytest.approx(2e-3 * 4096**2 * 4095 / C.DENSE_RATE)


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
    assert library(product(100, 4096, 4096, 4096), product(runs, *shape, dtype)) == pytest.approx(100 + runs)
