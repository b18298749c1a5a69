"""Exact numbers from JSON values: times in integer ns, ids within the width of their column."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

LONGEST: Final = 2**62
"""Largest time kept, in ns: its sum with a duration stays within int64."""
LONGEST_DURATION: Final = 2**53
"""Longest duration kept, in ns (104 days): sums over a thousand events stay within int64."""
FLOAT_HOLDS_NS: Final = 2.0**42
"""Microseconds below which a float64 still tells all three decimals apart."""
BEYOND: Final = 2**70
"""ns that stand for any time which no column holds: its own digits could be billions."""
_BEYOND_IDS: Final = 10**309
"""More than any float: a Decimal of as many digits as its exponent says could fill the memory."""
_HEXADECIMAL: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_LAST_PLACE: Final = 18
"""Power of ten from which microseconds are beyond LONGEST, whatever their digits."""


def nanoseconds(value: object) -> int | None:
    """A time in microseconds (integer, float, Decimal or text) as ns, to the nearest; None if it is none."""
    if type(value) is int:
        return value * 1000
    if isinstance(value, float) and abs(value) < FLOAT_HOLDS_NS:
        whole = math.floor(value)
        return whole * 1000 + round((value - whole) * 1000)
    if isinstance(value, bool) or not isinstance(value, (float, Decimal, str)):
        return None
    try:
        return _exact(Decimal(value))
    except (ArithmeticError, ValueError):
        return None


def _exact(microseconds: Decimal) -> int | None:
    if microseconds.is_nan() or microseconds.is_infinite():
        return None
    if microseconds and microseconds.adjusted() >= _LAST_PLACE:
        return -BEYOND if microseconds.is_signed() else BEYOND
    return int((microseconds * 1000).to_integral_value(ROUND_HALF_EVEN))


def integer(value: object) -> int | None:
    """A whole number (integer, float or text, that of hexadecimal digits after 0x too), None if it is none."""
    if type(value) is int:
        return value
    if isinstance(value, (float, Decimal)):
        return int(value) if math.isfinite(value) and abs(value) < _BEYOND_IDS and value == int(value) else None
    if isinstance(value, str):
        if _HEXADECIMAL.fullmatch(value):
            return int(value, 16)
        digits = value[1:] if value.startswith("-") else value
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 40 else None
    return None


def real(value: object) -> float | None:
    """A finite float, None if the value is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def clamped(value: int, bits: int) -> int:
    """The value within the range of a signed integer of that many bits."""
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))
