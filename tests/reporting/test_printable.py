from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tracelens.reporting.printable import cells, cut, pad, printable


def test_control_escape_and_bidirectional_characters_are_written_out() -> None:
    assert printable("a\x1b[31mb\r\n\t\x00") == "a\\x1b[31mb\\x0d\\x0a\\x09\\x00"
    assert printable("\u202egnp.exe\u2066") == "\\u202egnp.exe\\u2066"
    assert printable("\U000e0041") == "\\U000e0041"
    assert printable("\ud800") == "\\ud800"


def test_words_stay_as_they_are() -> None:
    assert printable("void at::native::Größe<λ, 2>") == "void at::native::Größe<λ, 2>"


@given(st.text())
def test_nothing_that_moves_the_cursor_or_hides_is_left(text: str) -> None:
    safe = printable(text)
    assert all(unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in safe)
    assert printable(safe) == safe
    safe.encode()


@given(st.text(), st.integers(1, 60))
def test_cut_text_fits(text: str, width: int) -> None:
    safe = printable(text)
    short = cut(safe, width)
    assert cells(short) <= width
    assert short == safe or "…" in short


@given(st.text(max_size=30), st.integers(0, 60), st.sampled_from("<>"))
def test_padded_text_fills_its_width(text: str, width: int, align: str) -> None:
    safe = printable(text)
    assert cells(pad(safe, width, align)) == max(width, cells(safe))


def test_cut_keeps_both_ends() -> None:
    assert cut("sm90_xmma_gemm_f16_kernel__5x", 14) == "sm90_xmma…__5x"


def test_wide_characters_take_two_columns() -> None:
    assert cells("核a") == 3
    assert cut("核核核核核核", 8) == "核核…核"
