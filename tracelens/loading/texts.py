"""Texts of members to numbers of names: each distinct spelling is decoded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import orjson

from tracelens.loading.fields import Kind
from tracelens.loading.framing import QUOTE
from tracelens.loading.interning import HashTable
from tracelens.loading.jsontext import json_text
from tracelens.loading.keys import Key
from tracelens.loading.slab import Slab
from tracelens.loading.tables import Tables
from tracelens.loading.words import span_hash
from tracelens.model.events import ABSENT, Int32s

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
        length = members.text_end - start
        hashes = span_hash(slab.text, start, length)
        categories = members.having(Key.CATEGORY)
        is_category = slice(categories.start - texts.start, categories.stop - texts.start)
        hashes[is_category] ^= _CATEGORY_MARK
        hashes += quoted * _STRING_MARK

        def number(index: int) -> int:
            intern = self._tables.category if is_category.start <= index < is_category.stop else self._tables.names.id
            begin = int(start[index])
            text = slab.data[begin : begin + int(length[index])]
            return _number(b'"' + text + b'"' if quoted[index] else text.rstrip(_BEHIND), intern)

        return self._known.ids(hashes, number)


def _number(text: bytes, intern: Callable[[str], int]) -> int:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return UNDECODABLE
    return ABSENT if value is None else intern(json_text(value))
