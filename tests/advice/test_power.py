"""Steps of little but dense matrix work run slower for long; others keep their traced time."""

from __future__ import annotations

from tests.advice.story import H200, Beat, analysis, facts, gemm, op, pointwise, upload
from tracelens.advice import advise
from tracelens.advice.constants import DEVICE_SPREAD, NARROW_SLOWDOWN, POWER_SLOWDOWN, UNPINNED_SPREAD

BIG = 1 << 24


def slowdown(*beats: Beat) -> float:
    return facts(*beats).sustained.mid


def test_nothing_but_large_products_runs_slower() -> None:
    assert slowdown(*[gemm(500)] * 4) == 1 + POWER_SLOWDOWN


def test_other_work_lets_the_device_cool() -> None:
    assert slowdown(*[gemm(500), pointwise(300, BIG)] * 4) == 1
    assert 1 < slowdown(*[gemm(500), pointwise(50, BIG)] * 4) < 1 + POWER_SLOWDOWN


def test_products_bound_by_memory_keep_their_time() -> None:
    vector = op("aten::mm", 500, shapes=[[1, 4096], [4096, 4096]], dtypes=["c10::Half"] * 2)
    assert slowdown(*[vector] * 4) == 1


def test_small_and_single_precision_products_keep_their_time() -> None:
    single = op("aten::mm", 500, shapes=[[4096, 4096]] * 2, dtypes=["float"] * 2)
    assert slowdown(*[single] * 4) == 1
    assert slowdown(*[gemm(500, grid=[4, 1, 1])] * 4) == 1


def test_attention_is_dense_work() -> None:
    shapes = {"shapes": [[2, 16, 8192, 128]] * 3, "dtypes": ["c10::BFloat16"] * 3}
    attention = op("aten::_flash_attention_forward", 900, kernel="flash_fwd_kernel", **shapes)
    assert slowdown(attention, attention) == 1 + POWER_SLOWDOWN


def test_attention_of_narrow_heads_takes_less_power() -> None:
    shapes, dtypes = [[4, 8, 65_536, 64]] * 3, ["c10::BFloat16"] * 3
    attention = op("aten::_flash_attention_forward", 900, kernel="flash_fwd_kernel", shapes=shapes, dtypes=dtypes)
    assert slowdown(attention, attention) == 1 + NARROW_SLOWDOWN
    assert 1 + NARROW_SLOWDOWN < slowdown(attention, gemm(900)) < 1 + POWER_SLOWDOWN


def test_another_device_keeps_its_traced_time_with_room_for_its_limit() -> None:
    other = {"deviceProperties": [{"id": 0, **H200, "name": "AMD Instinct MI300X"}]}
    factor = facts(*[gemm(500)] * 4, **other).sustained
    assert factor.mid == 1
    assert factor.high == 1 + POWER_SLOWDOWN


def test_copies_of_unpinned_memory_take_longer_or_shorter_in_another_process() -> None:
    def step(kind: str) -> list[Beat]:
        return [upload(f"HtoD ({kind} -> Device)", 900), op("aten::sort", 100, kernel="sortKernel")]

    pinned, unpinned = (facts(*step(kind)).sustained for kind in ("Pinned", "Pageable"))
    assert (pinned.low, pinned.high) == DEVICE_SPREAD
    assert UNPINNED_SPREAD[0] < unpinned.low < 0.8 * pinned.mid
    assert 1.3 * pinned.mid < unpinned.high < UNPINNED_SPREAD[1]
    eager = advise(analysis(*step("Pageable") * 3)).forms["eager"]
    assert (eager.high or 0) > 1.3 * (eager.step_ms or 0)
