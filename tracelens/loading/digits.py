"""Decimal numbers in text, straight to int64: eight digits at a time in the bytes of a word.

The folding of eight digits with three multiplications is Johnny Lee's and Daniel Lemire's
("Quickly parsing eight digits", 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracelens.loading.numbers import LONGEST
from tracelens.loading.words import KEEP, WORD, Hashes, Text
from tracelens.model.events import Bools, Bytes, Int64s

_ZEROS: Final = np.uint64(0x3030303030303030)
_ABOVE_NINE: Final = np.uint64(0x7676767676767676)
_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_HUNDREDS: Final = np.uint64(0x000F424000000064)
_UNITS: Final = np.uint64(0x0000271000000001)
_TEN: Final = np.uint64(10)
_U8, _U16, _U32 = (np.uint64(n) for n in (8, 16, 32))
_POWERS: Final = 10 ** np.arange(WORD + 1, dtype=np.int64)
_PER_THOUSANDTH: Final = 100_000
"""Multiples of 1e-8 in a thousandth."""
_MOST_DIGITS: Final = 18
"""Of a number that surely fits int64."""
_MOST_WHOLE: Final = LONGEST // 1000 - 1
"""Largest number whose thousandths keep to LONGEST."""
_MINUS: Final = ord("-")
_ZERO: Final = ord("0")
_POINT: Final = ord(".")
_ENDS = np.zeros(256, dtype=np.bool_)
_ENDS[list(b",}] \t\r\n")] = True
"""What may follow a number. What follows white space is left to the check of the whole slab."""


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """Numbers read at given places."""

    values: Int64s
    sound: Bools
    """Whether the text there is such a number, whole and in range."""


def read_integers(text: Text, at: Int64s, first: Bytes) -> Numbers:
    """Whole numbers of up to 18 digits that begin at these places, with these bytes."""
    negative = first == _MINUS
    begin = at + negative
    values, count = _unsigned(text, begin)
    sound = _ended(text, begin + count) & _plain(text, begin, count)
    np.negative(values, out=values, where=negative)
    return Numbers(values, sound)


def read_thousandths(text: Text, at: Int64s, first: Bytes) -> Numbers:
    """1000 times the numbers that begin at these places, with these bytes.

    Sound are those within LONGEST with 3 decimals at most, not counting further zeros.
    """
    negative = first == _MINUS
    begin = at + negative
    values, count = _unsigned(text, begin)
    end = begin + count
    sound = _plain(text, begin, count) & (values <= _MOST_WHOLE)
    values *= 1000
    pointed = np.flatnonzero(text.at(end) == _POINT)
    if len(pointed):
        fraction, decimals = _fraction(text, end.take(pointed) + 1)
        thousandths = fraction // _PER_THOUSANDTH
        values[pointed] += thousandths
        sound[pointed] &= (decimals > 0) & (thousandths * _PER_THOUSANDTH == fraction)
        end[pointed] += decimals + 1
    np.negative(values, out=values, where=negative)
    return Numbers(values, sound & _ended(text, end))


def _ended(text: Text, end: Int64s) -> Bools:
    """Whether a number may end at each place."""
    return _ENDS.take(text.at(end))


def _plain(text: Text, begin: Int64s, count: Int64s) -> Bools:
    """Whether so many digits are a number of JSON that fits: it has no zero before other digits."""
    return (count > 0) & (count <= _MOST_DIGITS) & ((text.at(begin) != _ZERO) | (count == 1))


def _unsigned(text: Text, at: Int64s) -> tuple[Int64s, Int64s]:
    """Value and number of leading digits, up to 24 (the value is meant for at most 18)."""
    digits, count = _digits(text.words_at(at))
    values = _leading(digits, count)
    full = np.flatnonzero(count == WORD)
    while len(full):
        more, further = _digits(text.words_at(at.take(full) + count.take(full)))
        values[full] = values.take(full) * _POWERS.take(further) + _leading(more, further)
        count[full] += further
        full = full[(further == WORD) & (count.take(full) < 3 * WORD)]
    return values, count


def _fraction(text: Text, at: Int64s) -> tuple[Int64s, Int64s]:
    """Digits after a point as multiples of 1e-8, and how many there are (up to 8)."""
    digits, count = _digits(text.words_at(at))
    return _folded(digits & KEEP.take(count)), count


def _digits(loaded: Hashes) -> tuple[Hashes, Int64s]:
    """Values of the leading digits of each word, byte by byte, and how many there are; later bytes are junk.

    Takes over `loaded`.
    """
    digits = np.bitwise_xor(loaded, _ZEROS, out=loaded)
    other = digits + _ABOVE_NINE
    other |= digits
    other &= _HIGH_BITS
    below = other - np.uint64(1)
    below &= np.invert(other, out=other)
    return digits, (np.bitwise_count(below) >> 3).astype(np.int64)


def _leading(digits: Hashes, count: Int64s) -> Int64s:
    """The number that the first `count` digits of each word spell. Takes over `digits`."""
    digits <<= ((WORD - count) << 3).view(np.uint64)
    return _folded(digits)


def _folded(digits: Hashes) -> Int64s:
    """The number that eight digit bytes spell, the first byte being the most significant."""
    tens = digits * _TEN
    tens += digits >> _U8
    high = tens & _PAIRS
    high *= _HUNDREDS
    tens >>= _U16
    tens &= _PAIRS
    tens *= _UNITS
    high += tens
    high >>= _U32
    return high.view(np.int64)
