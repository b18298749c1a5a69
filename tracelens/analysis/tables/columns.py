"""Columns that several tables share."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from tracelens.analysis.handles import handles_of
from tracelens.analysis.table import Told
from tracelens.analysis.where import places
from tracelens.model.events import ABSENT, Trace
from tracelens.model.names import names_of


def handle_column(trace: Trace, prefix: str, rows: npt.NDArray[np.integer]) -> Told:
    """Handles of the events in `rows` under a prefix."""
    return Told(rows, partial(handles_of, trace, prefix))


def name_column(trace: Trace, rows: npt.NDArray[np.integer]) -> Told:
    """Names of the events in `rows`, None where a row is ABSENT."""
    return Told(rows, partial(_optional_names, trace))


def place_column(trace: Trace, rows: npt.NDArray[np.integer]) -> Told:
    """The user's file and line behind the events in `rows`, None where the trace does not say."""
    return Told(rows, partial(places, trace))


def _optional_names(trace: Trace, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    found = np.full(len(rows), None, dtype=object)
    known = np.flatnonzero(rows != ABSENT)
    found[known] = names_of(trace, rows[known])
    return found
