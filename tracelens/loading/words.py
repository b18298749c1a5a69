"""Text as 8-byte words: loads at any byte, and hashes of spans without a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Bytes, Int64s

Hashes: TypeAlias = npt.NDArray[np.uint64]

WORD: Final = 8
"""Bytes."""
KEEP: Final[Hashes] = np.array([(1 << (8 * n)) - 1 for n in range(WORD + 1)], dtype=np.uint64)
"""KEEP[n] keeps the first n bytes of a word."""

_WHITE: Final = np.zeros(256, dtype=np.bool_)
_WHITE[list(b" \t\r\n")] = True
_PADDING: Final = 64
"""Bytes of zeros behind a text, or up to a word fewer."""
_WIDTH: Final = np.uint64(64)
_FIRST_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_LAST_MIX: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_PLACE_MIX: Final = np.uint64(0xD1342543DE82EF95)
_U29: Final = np.uint64(29)
_U32: Final = np.uint64(32)


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """Bytes of a text, with zeros behind them so that loads near the end stay within."""

    bytes: Bytes
    words: Hashes
    """The same memory as aligned little-endian words."""

    @classmethod
    def of(cls, data: bytes | memoryview) -> Text:
        """Pad and copy a text."""
        padded = np.frombuffer(b"".join((data, bytes(_PADDING - len(data) % WORD))), dtype=np.uint8)
        return cls(padded, padded.view("<u8"))

    def at(self, place: Int64s) -> Bytes:
        """The byte at each place; places outside count as the nearest within."""
        return self.bytes.take(place, mode="clip")

    def after_space(self, place: Int64s) -> Int64s:
        """Each place, or the first one behind it that is no white space. Takes over `place`."""
        rest = np.arange(len(place))
        while len(rest):
            rest = rest[_WHITE.take(self.at(place[rest]))]
            place[rest] += 1
        return place

    def words_at(self, place: Int64s) -> Hashes:
        """The word that begins at each place, aligned or not."""
        index = place >> 3
        shift = place & (WORD - 1)
        shift <<= 3
        bits = shift.view(np.uint64)
        loaded = self.words.take(index, mode="clip")
        loaded >>= bits
        index += 1
        above = self.words.take(index, mode="clip")
        above <<= np.subtract(_WIDTH, bits, out=bits)
        loaded |= above
        return loaded


def span_hash(text: Text, start: Int64s, length: Int64s) -> Hashes:
    """Hash of spans of any length: the sum of their words, each mixed with its place in the span.

    Sums of mixed words make order count and need no loop over the words of a span.
    """
    count = np.maximum((length + (WORD - 1)) >> 3, 1)
    after = np.cumsum(count)
    first = after - count
    place = np.arange(int(count.sum()), dtype=np.int64)
    place -= np.repeat(first, count)
    place <<= 3
    at = np.repeat(start, count)
    at += place
    words = text.words_at(at)
    words[after - 1] &= KEEP.take(length - ((count - 1) << 3))
    words += place.view(np.uint64) * _PLACE_MIX
    words ^= words >> _U32
    words *= _FIRST_MIX
    words ^= words >> _U29
    total = np.add.reduceat(words, first) if len(first) else words
    total += length.view(np.uint64) * _FIRST_MIX
    return mixed(total)


def mixed(words: Hashes) -> Hashes:
    """A bijection in which every bit of the input reaches every bit of the output."""
    words = words ^ (words >> _U32)
    words *= _FIRST_MIX
    words ^= words >> _U29
    words *= _LAST_MIX
    words ^= words >> _U32
    return words
