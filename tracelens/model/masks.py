"""Masks: which rows are among some, and where runs of alike ones begin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Bools


def mask_of(rows: npt.NDArray[np.integer], count: int) -> Bools:
    """(count) Whether each number from 0 up is among the rows."""
    mask = np.zeros(count, dtype=np.bool_)
    mask[rows] = True
    return mask


def run_starts(*columns: npt.NDArray[np.number]) -> Bools:
    """(n) Whether each entry of columns of one length begins a run: it is the first, or not as the one before."""
    starts = np.ones(len(columns[0]), dtype=np.bool_)
    starts[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return starts
