"""Texts of members to numbers of names: each distinct spelling is decoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, cast

import numpy as np

from tracelens.loading.fields import Kind
from tracelens.loading.framing import QUOTE
from tracelens.loading.interning import HashTable
from tracelens.loading.jsontext import BROKEN, json_text, parsed
from tracelens.loading.keys import Key
from tracelens.loading.slab import Slab
from tracelens.loading.tables import Tables
from tracelens.model.events import ABSENT, Bools, Int32s, Int64s

UNDECODABLE: Final = -2
"""Number of a text that is no JSON."""
_CATEGORY_MARK: Final = np.uint64(0xA24BAED4963EE407)
_STRING_MARK: Final = np.uint64(0x9FB21C651E98DF25)
"""Set categories, and strings, apart from other values of the same bytes."""
_BEHIND: Final = b", \t\r\n"


class TextReader:
    """Numbers texts; what a hash stands for is remembered from slab to slab."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known = HashTable()

    def read(self, slab: Slab) -> Int32s:
        """What each member of kind TEXT stands for: the category of a `cat`, the number of any other among the names.

        A value that is no string counts as its compact JSON. ABSENT for null, UNDECODABLE for what is no JSON.
        """
        members, texts = slab.members, slab.members.of_kind(Kind.TEXT)
        quoted = members.first[texts] == QUOTE
        start = members.value[texts] + quoted
        length = members.text_end[texts] - start
        hashes = slab.raw.values[texts].view(np.uint64) + quoted * _STRING_MARK
        categories = members.having(Key.CATEGORY)
        is_category = slice(categories.start - texts.start, categories.stop - texts.start)
        hashes[is_category] ^= _CATEGORY_MARK

        def numbers(new: Int64s) -> list[int]:
            values = _decoded(slab.data, start[new], length[new], quoted[new])
            first, stop = np.searchsorted(new, (is_category.start, is_category.stop)).tolist()
            names = self._tables.names.ids
            return [
                *_numbers(values[:first], names),
                *_numbers(values[first:stop], lambda texts: map(self._tables.category, texts)),
                *_numbers(values[stop:], names),
            ]

        return self._known.ids(hashes, numbers)


def _numbers(values: list[object], intern: Callable[[list[str]], Iterable[int]]) -> Iterable[int]:
    """Number of each value's text, ABSENT of null, UNDECODABLE of what is no JSON."""
    if {*map(type, values)} == {str}:  # as nearly all are
        return intern(cast("list[str]", values))
    given = iter(intern([json_text(value) for value in values if not _textless(value)]))
    return [(ABSENT if value is None else UNDECODABLE) if _textless(value) else next(given) for value in values]


def _textless(value: object) -> bool:
    return value is None or value is BROKEN


def _decoded(data: bytes, start: Int64s, length: Int64s, quoted: Bools) -> list[object]:
    """JSON values of spans of text: of strings what is between the quotes, of others with what follows them."""
    bounds = zip((start - quoted).tolist(), (start + length + quoted).tolist(), strict=True)
    pieces = [data[begin:end] for begin, end in bounds]
    if quoted.all():
        together = parsed(b"[" + b",".join(pieces) + b"]")
        if together is not BROKEN:
            return cast("list[object]", together)
    return [parsed(piece.rstrip(_BEHIND)) for piece in pieces]
