from __future__ import annotations

import time

import pytest

from tracelens.reporting.kernel_titles import kernel_title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::AbsFunctor<float>, std::array<char*, 2ul> >"
            "(int, at::native::AbsFunctor<float>, std::array<char*, 2ul>)",
            "AbsFunctor<float> in vectorized_elementwise_kernel",
        ),
        (
            "void (anonymous namespace)::softmax_warp_forward<c10::Half, float, 7>(float*, c10::Half const*, int)",
            "softmax_warp_forward<Half, float, 7>",
        ),
        ("void splitKreduce_kernel<32, 16, int>(cublasSplitKParams<float>)", "splitKreduce_kernel<32, 16, int>"),
        ("nvjet_sm90_tst_64x64_splitK_NTT", "nvjet_sm90_tst_64x64_splitK_NTT"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        ("", ""),
        (">::(<", ">::(<"),
    ],
)
def test_a_kernel_is_told_by_what_it_does(name: str, title: str) -> None:
    assert kernel_title(name) == title


@pytest.mark.parametrize("unit", ["a", "a::", "a_"])
def test_a_name_of_a_megabyte_takes_no_longer_than_reading_it(unit: str) -> None:
    name = unit * (1_000_000 // len(unit))
    began = time.process_time()
    assert kernel_title(name).endswith(unit)
    assert time.process_time() - began < 5
