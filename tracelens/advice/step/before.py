"""What stands before each of a row of values."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


def before(values: npt.NDArray[T], first: float) -> npt.NDArray[T]:
    """(n) The value before each of n; `first` before the first."""
    shifted = np.empty_like(values)
    shifted[:1], shifted[1:] = first, values[:-1]
    return shifted
