"""Numbers straight from text agree with Python's own reading of it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelens.loading.digits import read_integers, read_thousandths
from tracelens.loading.numbers import LONGEST, nanoseconds
from tracelens.loading.words import Text

ENDS = st.sampled_from([",", "}", "]", " ,", "\n  }"])


def text_of(parts: list[str]) -> tuple[Text, np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *(len(part) for part in parts)])[:-1].astype(np.int64)
    text = Text.of("".join(parts).encode())
    return text, starts, text.at(starts)


@given(st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), ENDS), min_size=1))
def test_integers_of_up_to_18_digits(numbers: list[tuple[int, str]]) -> None:
    found = read_integers(*text_of([f"{number}{end}" for number, end in numbers]))
    assert found.sound.all()
    assert found.values.tolist() == [number for number, _ in numbers]


@given(st.lists(st.tuples(st.integers(0, 10**15), st.integers(0, 999), ENDS), min_size=1))
def test_three_decimals_are_exact(numbers: list[tuple[int, int, str]]) -> None:
    texts = [f"{whole}.{part:03d}{end}" for whole, part, end in numbers]
    found = read_thousandths(*text_of(texts))
    assert found.sound.all()
    assert found.values.tolist() == [whole * 1000 + part for whole, part, _ in numbers]


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=3), ENDS)
def test_times_agree_with_decimals(value: Decimal, end: str) -> None:
    found = read_thousandths(*text_of([f"{value:f}{end}"]))
    assert found.sound.all()
    assert found.values.tolist() == [nanoseconds(f"{value:f}")]


def test_zeros_after_three_decimals_do_no_harm() -> None:
    found = read_thousandths(*text_of(["1.500000,", "2.1230,", "7.00000000}"]))
    assert found.values.tolist() == [1500, 2123, 7000]
    assert found.sound.all()


def test_what_is_no_plain_number_is_left_to_others() -> None:
    texts = [
        "1.5,",
        "1e3,",
        '"1",',
        "null,",
        "-,",
        "12x,",
        "1234567890123456789,",
        "0x5,",
        "007,",
        "-00,",
    ]
    assert not read_integers(*text_of(texts)).sound.any()
    texts = [
        "1.0005,",
        "1e3,",
        '"1",',
        "null,",
        ".5,",
        "1.,",
        "1.5.2,",
        f"{LONGEST},",
        "01.5,",
    ]
    assert not read_thousandths(*text_of(texts)).sound.any()
