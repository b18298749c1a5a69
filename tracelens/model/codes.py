"""What the columns of one byte hold."""

from __future__ import annotations

from enum import Enum

import numpy as np


class Code(np.uint8, Enum):
    """A number of one byte with a name.

    A column of bytes is compared with it byte by byte; with an IntEnum numpy compares in 64 bits, which takes nine
    times as long."""
