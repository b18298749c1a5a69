"""Words of text and hashes of its spans."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.loading.interning import HashTable
from tracelens.loading.words import Text, span_hash


@given(st.binary(min_size=1, max_size=200))
def test_words_begin_at_any_byte(data: bytes) -> None:
    padded = data + bytes(8)
    expected = [int.from_bytes(padded[at : at + 8], "little") for at in range(len(data))]
    assert Text.of(data).words_at(np.arange(len(data))).tolist() == expected


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=30))
def test_spans_hash_alike_exactly_if_they_are_alike(spans: list[bytes]) -> None:
    starts = np.cumsum([0, *(len(span) + 1 for span in spans)])[:-1].astype(np.int64)
    lengths = np.array([len(span) for span in spans], dtype=np.int64)
    hashes = span_hash(Text.of(b"|".join(spans)), starts, lengths).tolist()
    assert len(set(hashes)) == len(set(spans))
    assert len(dict(zip(spans, hashes, strict=True))) == len(set(zip(spans, hashes, strict=True)))


@given(st.lists(st.lists(st.integers(0, 3000)), max_size=5))
def test_a_table_numbers_hashes_in_order_of_appearance(rounds: list[list[int]]) -> None:
    table, numbers = HashTable(), dict[int, int]()
    for values in rounds:
        ids = table.ids(
            np.array(values, dtype=np.uint64),
            lambda new, values=values: [numbers.setdefault(values[one], len(numbers)) for one in new.tolist()],
        )
        assert ids.tolist() == [numbers[value] for value in values]
    assert list(numbers) == list(dict.fromkeys(value for values in rounds for value in values))


def test_a_table_grows() -> None:
    table, values = HashTable(), np.arange(50_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert np.array_equal(table.ids(values, np.ndarray.tolist), np.arange(50_000))
    assert np.array_equal(table.ids(values[::-1], lambda new: []), np.arange(50_000)[::-1])
