from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.model import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.968, "3.97"),
        (12.34, "12.3"),
        (99.96, "100"),
        (1234.5, "1,234"),
        (0.0523, "0.0523"),
        (0.12345, "0.123"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert units.significant(value) == text


@pytest.mark.parametrize(("ms", "text"), [(3.968, "3.97"), (0.553, "0.55"), (0.123, "0.123"), (0.0123, "0.0123")])
def test_a_step_reads_short(ms: float, text: str) -> None:
    assert units.milliseconds(ms) == text


def test_ends_of_a_range_have_as_many_decimals() -> None:
    assert units.milliseconds(0) == "0"
    assert units.millisecond_range(0.182, 0.361) == "0.18-0.36"
    assert units.millisecond_range(2.35, 12.3) == "2.4-12.3"


@given(st.floats(0.001, 10_000))
def test_a_step_is_never_off_by_more_than_it_says(ms: float) -> None:
    assert float(units.milliseconds(ms).replace(",", "")) == pytest.approx(ms, rel=0.026)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (999_499, "999 us"),
        (999_500, "1.00 ms"),
        (2_500_000_000, "2.50 s"),
    ],
)
def test_durations_choose_their_unit(ns: int, text: str) -> None:
    assert units.duration(ns) == text


def test_a_range_of_durations_has_one_unit() -> None:
    assert units.durations(300_000, 420_000) == "300-420 us"
    assert units.durations(0, 1_500_000) == "0-1.50 ms"
    assert units.durations(300_000, 1_500_000) == "0.300-1.50 ms"
    assert units.durations(3_000, 10_816_000) == "3.00 us - 10.8 ms"
    assert units.durations(5_000, 5_000) == "5.00 us"


def test_zero_is_a_time_without_a_unit() -> None:
    assert units.parse_duration(" 0 ") == 0
    assert units.parse_span("0..5ms") == (0, 5_000_000)
    with pytest.raises(ValueError, match=r"the range 0\.\.0 is empty"):
        units.parse_span("0..0")


def test_a_small_share_is_not_nothing() -> None:
    assert units.share(0.0) == "0.0 %"
    assert units.share(0.0001) == "<0.1 %"
    assert units.share(0.7123) == "71.2 %"


@pytest.mark.parametrize(
    ("text", "ns"),
    [("12ms", 12_000_000), ("1.5 s", 1_500_000_000), ("350us", 350_000), ("350µs", 350_000), ("0.001us", 1)],
)
def test_times_are_read_exactly(text: str, ns: int) -> None:
    assert units.parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "12", "ms", "-1ms", "1e3ms", "1 min", "1ms2"])
def test_times_without_a_unit_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time with a unit"):
        units.parse_duration(text)


def test_ranges() -> None:
    assert units.parse_span("12ms..15ms") == (12_000_000, 15_000_000)
    with pytest.raises(ValueError, match="ends before it starts"):
        units.parse_span("3ms..1ms")
    with pytest.raises(ValueError, match="range"):
        units.parse_span("3ms-5ms")


def test_counts_and_sizes() -> None:
    assert units.counted(1, "step") == "1 step"
    assert units.counted(1024, "kernel") == "1,024 kernels"
    assert units.size(500) == "500 bytes"
    assert units.size(20_400_000) == "20.4 MB"


def test_a_time_beyond_int64_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than any trace"):
        units.parse_duration("9999999999999999999s")
