"""The compiled step of a story, and beats that the fusion model is asked of."""

from __future__ import annotations

from tests.advice.story import Beat, facts, op
from tracelens.advice.compiler.fusion import Compiled, compile_device

BIG = 1 << 24
"""Elements: a tensor whose traffic outlasts all else of a kernel."""


def compiled(*beats: Beat) -> Compiled:
    """What the compiler makes of the step."""
    return compile_device(facts(*beats))


def reduction(size: int, dims: str, runs: float = 5.0) -> Beat:
    """A sum over given dimensions of rows of 256 elements."""
    shapes = {"shapes": [[size // 256, 256], [], [], []], "dtypes": ["float", "ScalarList", "Scalar", ""]}
    return op("aten::sum", runs, kernel="at::native::reduce_kernel", concrete=["", dims, "False", ""], **shapes)


def elementwise(
    name: str, size: int, dtypes: list[str], runs: float = 100.0, concrete: list[str] | None = None
) -> Beat:
    """An operator on tensors of one size, one for each type."""
    return op(name, runs, shapes=[[size]] * len(dtypes), dtypes=dtypes, concrete=concrete or [""] * len(dtypes))
