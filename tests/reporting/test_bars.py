from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracelens.analysis.parts import CLASSES
from tracelens.reporting.bars import LOOKS, spread


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8), st.integers(1, 200))
def test_cells_sum_to_the_width_and_follow_the_shares(parts: list[int], width: int) -> None:
    bar = spread(parts, width)
    total = sum(parts)
    assert sum(bar) == (width if total else 0)
    assert all(abs(size * total - part * width) < max(total, 1) for size, part in zip(bar, parts, strict=True))


def test_every_class_has_a_glyph_and_a_colour_of_its_own() -> None:
    assert set(LOOKS) == set(CLASSES)
    for kind in ("glyph", "plain", "color"):
        assert len({getattr(look, kind) for look in LOOKS.values()}) == len(CLASSES)
    assert all(look.plain.isascii() for look in LOOKS.values())
