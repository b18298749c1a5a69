"""Names of kernels as people read them: what tells them apart comes first."""

from __future__ import annotations

import re
from typing import Final

from tracelens.analysis.kinds import bare_name

_ANONYMOUS: Final = "(anonymous namespace)::"
_NAMESPACES: Final = re.compile(r"\b(?:\w++::)+(?=\w)")
_WRAPPED: Final = re.compile(r"(?P<wrapper>(?:\w*_)?(?:elementwise|reduce)_kernel\w*)<(?:\d+, )*(?P<inner>.+)>")
_LAUNCHER: Final = re.compile(r"gpu_kernel_impl\w*<|(?:, |,)?array<char\*, ?\d+ul>.*")
"""What PyTorch wraps around every functor."""


def kernel_title(name: str) -> str:
    """The name without its argument list, return type and namespaces; a generic kernel by its functor first.

    "void at::native::vectorized_elementwise_kernel<4, at::native::AbsFunctor<float>, ...>(int, ...)" reads
    "AbsFunctor<float> in vectorized_elementwise_kernel"."""
    if name.startswith(("Memcpy", "Memset")):
        return name
    whole = name.replace(_ANONYMOUS, "").removeprefix("void ")
    title = _NAMESPACES.sub("", whole[: len(bare_name(whole))])
    match = _WRAPPED.fullmatch(title)
    inner = _LAUNCHER.sub("", match["inner"]) if match else ""
    return f"{inner} in {match['wrapper']}" if match and inner else title
