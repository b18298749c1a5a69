"""Steps of little but dense matrix work run slower for long; others keep their traced time."""

from __future__ import annotations

import pytest

from tests.advice.story import H200, Beat, analysis, facts, gemm, op, pointwise, upload
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.device.power import (
    ATTENTION_RATE,
    NARROW_RATE,
    PEAK_RATE,
    POWER_FROM,
    POWER_REACH,
    POWER_SLOWDOWN,
)

BIG = 1 << 24


def slowdown(*beats: Beat) -> float:
    return facts(*beats).sustained.mid


def expected(rate: float) -> float:
    """Slowdown of nothing but products at so many operations per ns."""
    return 1 + POWER_SLOWDOWN * (rate - POWER_FROM)


@pytest.mark.parametrize("us", [300, 200, 160])
def test_the_faster_products_run_the_more_the_power_limit_slows_them(us: float) -> None:
    rate = 2 * 4096**3 / (1000 * us)
    assert slowdown(*[gemm(us)] * 4) == pytest.approx(expected(rate))


def test_products_of_few_operations_a_second_keep_their_time() -> None:
    assert slowdown(*[gemm(500)] * 4) == 1


def test_no_product_counts_as_faster_than_the_device() -> None:
    assert slowdown(*[gemm(50)] * 4) == pytest.approx(expected(PEAK_RATE))


def test_other_work_lets_the_device_cool() -> None:
    assert slowdown(*[gemm(200), pointwise(120, BIG)] * 4) == 1
    assert 1 < slowdown(*[gemm(200), pointwise(20, BIG)] * 4) < slowdown(*[gemm(200)] * 4)


def test_products_bound_by_memory_keep_their_time() -> None:
    vector = op("aten::mm", 500, shapes=[[1, 4096], [4096, 4096]], dtypes=["c10::Half"] * 2)
    assert slowdown(*[vector] * 4) == 1


def test_small_and_single_precision_products_keep_their_time() -> None:
    single = op("aten::mm", 500, shapes=[[4096, 4096]] * 2, dtypes=["float"] * 2)
    assert slowdown(*[single] * 4) == 1
    assert slowdown(*[gemm(200, grid=[4, 1, 1])] * 4) == 1


def test_double_precision_products_meet_the_power_limit_at_their_own_rate() -> None:
    def product(dtype: str) -> Beat:
        return op("aten::mm", 2500, shapes=[[4096, 4096]] * 2, dtypes=[dtype] * 2)

    assert slowdown(*[product("double")] * 4) == pytest.approx(expected(NARROW_RATE))
    assert slowdown(*[product("c10::complex<float>")] * 4) == 1


def test_attention_takes_power_by_the_width_of_its_heads() -> None:
    def attention(head: int) -> Beat:
        shapes, dtypes = [[2, 16, 8192, head]] * 3, ["c10::BFloat16"] * 3
        return op("aten::_flash_attention_forward", 900, kernel="flash_fwd_kernel", shapes=shapes, dtypes=dtypes)

    assert slowdown(*[attention(128)] * 2) == pytest.approx(expected(ATTENTION_RATE))
    assert slowdown(*[attention(64)] * 2) == pytest.approx(expected(NARROW_RATE))
    assert expected(NARROW_RATE) < slowdown(attention(64), attention(128)) < expected(ATTENTION_RATE)


@pytest.mark.parametrize(
    ("kernel", "rate"),
    [
        ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", C.DENSE_RATE),
        ("cutlass_tensorop_bf16_s16816fprop_optimized_bf16_128x128_32x5_nhwc_align8", NARROW_RATE),
    ],
)
def test_convolutions_take_power_by_the_instructions_of_their_kernel(kernel: str, rate: float) -> None:
    shapes, dtypes = [[8, 128, 256, 256], [256, 128, 7, 7]], ["c10::BFloat16"] * 2
    convolution = op("aten::cudnn_convolution", 3500, kernel=kernel, shapes=shapes, dtypes=dtypes)
    assert slowdown(convolution, convolution) == pytest.approx(expected(rate))


def test_another_device_keeps_its_traced_time_with_room_for_its_limit() -> None:
    other = {"deviceProperties": [{"id": 0, **H200, "name": "AMD Instinct MI300X"}]}
    factor = facts(*[gemm(500)] * 4, **other).sustained
    assert factor.mid == 1
    assert factor.high == pytest.approx(1 + POWER_REACH * (expected(C.DENSE_RATE) - 1))


def test_copies_of_unpinned_memory_take_longer_or_shorter_in_another_process() -> None:
    def step(kind: str) -> list[Beat]:
        return [upload(f"HtoD ({kind} -> Device)", 900), op("aten::sort", 100, kernel="sortKernel")]

    pinned, unpinned = (facts(*step(kind)).sustained for kind in ("Pinned", "Pageable"))
    assert (pinned.low, pinned.high) == C.DEVICE_SPREAD
    assert C.UNPINNED_SPREAD[0] < unpinned.low < 0.8 * pinned.mid
    assert 1.3 * pinned.mid < unpinned.high < C.UNPINNED_SPREAD[1]
    eager = advise(analysis(*step("Pageable") * 3)).forms["eager"]
    assert (eager.high or 0) > 1.3 * (eager.step_ms or 0)
