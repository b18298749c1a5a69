"""An array that grows at its end without keeping its pieces, so that a column is never in memory twice."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SPARE: Final = 8
"""Grows by an eighth: large arrays are moved by the system's page tables, not copied, so often is cheap."""
_SMALLEST: Final = 1024
"""Values that the first piece of memory holds."""


class GrowingArray:
    """Values appended in pieces."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._data: npt.NDArray[Any] = np.empty(0, dtype=dtype)
        self._count = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append values, cast to the array's type."""
        end = self._count + len(values)
        if end > len(self._data):
            self._data.resize(max(end + end // _SPARE, _SMALLEST), refcheck=False)
        self._data[self._count : end] = values
        self._count = end

    def take(self) -> npt.NDArray[Any]:
        """The array at its length; nothing may be appended from then on."""
        self._data.resize(self._count, refcheck=False)
        return self._data
