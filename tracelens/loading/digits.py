"""Decimal numbers in text, straight to int64: eight digits at a time in the bytes of a word.

The folding of eight digits with three multiplications is Johnny Lee's and Daniel Lemire's
("Quickly parsing eight digits", 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.loading.words import KEEP, WORD, Words
from tracelens.model.events import Bools, Bytes, Int64s

_ZEROS: Final = np.uint64(0x3030303030303030)
_ABOVE_NINE: Final = np.uint64(0x7676767676767676)
_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_BYTE_INDEX: Final = np.uint64(0x0001020304050607)
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_HUNDREDS: Final = np.uint64(0x000F424000000064)
_UNITS: Final = np.uint64(0x0000271000000001)
_TEN: Final = np.uint64(10)
_U7, _U8, _U16, _U32, _U56 = (np.uint64(n) for n in (7, 8, 16, 32, 56))
_POWERS: Final = 10 ** np.arange(WORD + 1, dtype=np.int64)
_MOST_DIGITS: Final = 18
_MINUS: Final = ord("-")
_POINT: Final = ord(".")
_ENDS = np.zeros(256, dtype=np.bool_)
_ENDS[list(b",}] \t\r\n")] = True


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """Numbers read at given places."""

    values: Int64s
    sound: Bools
    """Whether the text there is such a number, whole and in range."""


def read_integers(text: Bytes, words: Words, at: Int64s) -> Numbers:
    """Whole numbers of up to 18 digits that begin at these bytes."""
    negative = text[at] == _MINUS
    values, count = _unsigned(words, at + negative)
    end = at + negative + count
    sound = _ENDS[text[end]] & (count > 0) & (count <= _MOST_DIGITS)
    return Numbers(np.where(negative, -values, values), sound)


def read_thousandths(text: Bytes, words: Words, at: Int64s) -> Numbers:
    """1000 times the numbers that begin at these bytes: up to 15 digits and 3 decimals, not counting further zeros."""
    negative = text[at] == _MINUS
    values, count = _unsigned(words, at + negative)
    end = at + negative + count
    sound = (count > 0) & (count <= _MOST_DIGITS - 3)
    values *= 1000
    pointed = np.flatnonzero(text[end] == _POINT)
    if len(pointed):
        fraction, decimals = _fraction(words, end[pointed] + 1)
        values[pointed] += fraction // _POWERS[5]
        sound[pointed] &= (decimals > 0) & (fraction % _POWERS[5] == 0)
        end[pointed] += decimals + 1
    return Numbers(np.where(negative, -values, values), sound & _ENDS[text[end]])


def _unsigned(words: Words, at: Int64s) -> tuple[Int64s, Int64s]:
    """Value and number of leading digits, up to 24 (the value is meant for at most 18)."""
    digits, count = _digits(words[at])
    values = _folded(digits << ((WORD - count).view(np.uint64) << np.uint64(3)))
    full = np.flatnonzero(count == WORD)
    while len(full):
        more, further = _digits(words[at[full] + count[full]])
        low = _folded(more << ((WORD - further).view(np.uint64) << np.uint64(3)))
        values[full] = values[full] * _POWERS[further] + low
        count[full] += further
        full = full[(further == WORD) & (count[full] < 3 * WORD)]
    return values, count


def _fraction(words: Words, at: Int64s) -> tuple[Int64s, Int64s]:
    """Digits after a point as multiples of 1e-8, and how many there are (up to 8)."""
    digits, count = _digits(words[at])
    return _folded(digits & KEEP[count]), count


def _digits(loaded: Words) -> tuple[Words, Int64s]:
    """Values of the leading digits of each word, byte by byte, and how many there are; later bytes are junk."""
    digits = loaded ^ _ZEROS
    other = ((digits + _ABOVE_NINE) | digits) & _HIGH_BITS
    lowest = (other & (~other + np.uint64(1))) >> _U7
    count = ((lowest * _BYTE_INDEX) >> _U56).view(np.int64)
    count[other == 0] = WORD
    return digits, count


def _folded(digits: Words) -> Int64s:
    """The number that eight digit bytes spell, the first byte being the most significant."""
    tens = digits * _TEN + (digits >> _U8)
    high = (tens & _PAIRS) * _HUNDREDS
    low = ((tens >> _U16) & _PAIRS) * _UNITS
    return ((high + low) >> _U32).view(np.int64)
