from __future__ import annotations

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
