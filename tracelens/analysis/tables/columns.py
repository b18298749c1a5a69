"""Columns that several tables share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracelens.model.events import ABSENT, Bools, Int64s, Trace
from tracelens.model.names import names_of
from tracelens.model.windows import Window


def table(columns: Mapping[str, npt.NDArray[Any]]) -> pd.DataFrame:
    """A DataFrame of the columns; text stays Python text, with None where there is none."""
    return pd.DataFrame({name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()})


def optional_names(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Names of the events in `rows`, None where a row is ABSENT."""
    found = np.full(len(rows), None, dtype=object)
    known = np.flatnonzero(rows != ABSENT)
    found[known] = names_of(trace, rows[known])
    return found


def operator_names(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """Name of the operator that issued each host call or piece of device work, None where none did."""
    return optional_names(trace, trace.links.operator[rows])


def in_tiles(window: Window, start: Int64s, end: Int64s) -> Bools:
    """Mask of the intervals [start, end) that share time with the window; one of no length must lie in it."""
    tiles = window.tiles
    if not len(tiles):
        return np.zeros(len(start), dtype=np.bool_)
    tile = np.searchsorted(tiles[:, 1], start, side="right")
    inside = np.minimum(tile, len(tiles) - 1)
    return (tile < len(tiles)) & (tiles[inside, 0] < np.maximum(end, start + 1))
