"""Text as 8-byte words: loads at any byte, comparison of short words and hashes of spans without a loop."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tracelens.model.events import Bytes, Int64s

Words: TypeAlias = npt.NDArray[np.uint64]

WORD: Final = 8
PADDING: Final = 64
"""Zero bytes needed behind a text so that loads near its end stay within it."""
KEEP: Final[Words] = np.array([(1 << (8 * n)) - 1 for n in range(WORD + 1)], dtype=np.uint64)
"""KEEP[n] keeps the first n bytes of a word."""

_FIRST_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_LAST_MIX: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF: Final = np.uint64(32)
_GOLDEN_STEP: Final = np.uint64(0xD1342543DE82EF95)


def words_of(text: Bytes) -> Words:
    """View of a text in which element i is the little-endian word that begins at byte i; the text is padded."""
    return np.ndarray(shape=(len(text) - WORD + 1,), dtype="<u8", buffer=text, strides=(1,))


def short_hash(words: Words, start: Int64s, length: Int64s) -> Words:
    """Hash of spans of at most 24 bytes from their first, middle and last word; longer ones may share it."""
    keep = KEEP[np.minimum(length, WORD)]
    first = words[start] & keep
    middle = words[start + np.maximum((length >> 1) - WORD // 2, 0)] & keep
    last = words[start + np.maximum(length - WORD, 0)] & keep
    return mixed((first * _FIRST_MIX) ^ (middle * _GOLDEN_STEP) ^ (last * _LAST_MIX)) + length.astype(np.uint64)


def span_hash(words: Words, start: Int64s, length: Int64s) -> Words:
    """Hash of spans of any length: the sum of their words, each mixed with its place in the span."""
    count = (length + (WORD - 1)) // WORD
    first = np.cumsum(count) - count
    place = np.arange(int(count.sum()), dtype=np.int64) - np.repeat(first, count)
    at = np.repeat(start, count) + place * WORD
    loaded = words[at]
    last = (first + count - 1)[count > 0]
    loaded[last] &= KEEP[((length - 1) % WORD + 1)[count > 0]]
    loaded ^= place.view(np.uint64) * _GOLDEN_STEP
    total = np.zeros(len(start), dtype=np.uint64)
    if len(loaded):
        total[count > 0] = np.add.reduceat(mixed(loaded), first[count > 0])
    return mixed(total + length.view(np.uint64) * _FIRST_MIX)


def mixed(words: Words) -> Words:
    """A bijection in which every bit of the input reaches every bit of the output."""
    words = (words ^ (words >> _HALF)) * _FIRST_MIX
    words = (words ^ (words >> np.uint64(29))) * _LAST_MIX
    return words ^ (words >> _HALF)
