"""Texts of members to numbers of names: each distinct spelling is decoded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import orjson

from tracelens.loading.interning import HashTable
from tracelens.loading.members import trimmed
from tracelens.loading.slab import Slab
from tracelens.loading.tables import Tables
from tracelens.loading.words import Hashes, span_hash
from tracelens.model.events import Int32s, Int64s

UNDECODABLE: Final = -2
"""Number of a text that is no JSON."""


class TextReader:
    """Numbers texts; what a hash stands for is remembered from slab to slab."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._strings = HashTable()
        self._values = HashTable()
        self._categories = HashTable()

    def hashes(self, slab: Slab, strings: Int64s) -> Hashes:
        """Hash of the content of each of these string members."""
        start = slab.members.value[strings] + 1
        return span_hash(slab.text, start, slab.members.end[strings] - start)

    def strings(self, slab: Slab, strings: Int64s, hashes: Hashes) -> Int32s:
        """Number among the names of each string member, UNDECODABLE where it has bad escapes."""
        return self._strings.ids(hashes, self._number_of(slab, strings, self._tables.names.id))

    def categories(self, slab: Slab, strings: Int64s, hashes: Hashes) -> Int32s:
        """Category of each `cat` member."""
        return self._categories.ids(hashes, self._number_of(slab, strings, self._tables.category))

    def values(self, slab: Slab, values: Int64s) -> Int32s:
        """Number among the names of the compact JSON of each member that is no string."""
        start = slab.members.value[values]
        end = trimmed(slab.text, slab.members.end[values])
        hashes = span_hash(slab.text, start, end - start)
        return self._values.ids(hashes, self._number_of(slab, values, self._tables.names.id))

    def _number_of(self, slab: Slab, members: Int64s, number: Callable[[str], int]) -> Callable[[int], int]:
        """Function that decodes the i-th of these members and gives its number."""

        def decode(index: int) -> int:
            try:
                return number(slab.json_text(int(members[index])))
            except orjson.JSONDecodeError:
                return UNDECODABLE

        return decode
