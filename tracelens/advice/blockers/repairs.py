"""How to do without a wait for the device, in PyTorch terms, by the operator that makes it."""

from __future__ import annotations

import re
from typing import Final

COPIES: Final = (
    "Move copies between host and device out of the step: pinned memory and non_blocking=True into static buffers."
)
"""The repair of copies that wait, for whatever reason they do."""
REPAIRS: Final = (
    (re.compile(r"_local_scalar_dense|item|is_nonzero|equal"),
     "Keep the value on the device: torch.where instead of a Python branch, and read metrics every N steps outside."),
    (re.compile(r"nonzero|masked_select|unique|index"),
     "Keep shapes fixed: torch.where or a mask instead of boolean indexing, torch.nonzero_static with a size."),
    (re.compile(r"copy|to"), COPIES),
)  # fmt: skip
UNNAMED: Final = "Remove torch.cuda.synchronize() and other waits from the step; synchronise outside it."


def repair(operator: str) -> str:
    """What to do about the waits of an operator; "" stands for none."""
    return next((advice for pattern, advice in REPAIRS if operator and pattern.search(operator)), UNNAMED)
