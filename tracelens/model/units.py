"""Times, shares and counts as people read and type them; inside, times are integer ns."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

NS_PER_MS: Final = 1_000_000
LONGEST_NS: Final = 2**62
"""146 years: sums of two such times stay within int64."""
APART: Final = 100
"""Times that the longer end of a range is the shorter from which each has its own unit."""
_UNITS: Final = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": NS_PER_MS, "s": 1_000_000_000}
_DURATION: Final = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>ns|us|µs|ms|s)")


def to_ms(ns: int) -> float:
    """Ns as ms."""
    return ns / NS_PER_MS


def significant(value: float) -> str:
    """Three significant digits without an exponent ("3.97", "0.0523", "1,234")."""
    decimals = sum(abs(value) < bound for bound in (99.95, 9.995, 0.9995, 0.09995))
    return f"{value:,.{decimals}f}" if value else "0"


def milliseconds(ms: float) -> str:
    """A step's length without its unit, to 2.5 % or better ("3.97", "0.55", "0.123")."""
    return f"{ms:,.{_decimals(ms)}f}"


def millisecond_range(low: float, high: float) -> str:
    """Both ends with as many decimals as the longer step needs ("0.52-0.60")."""
    places = _decimals(high)
    return f"{low:,.{places}f}-{high:,.{places}f}"


def duration(ns: int) -> str:
    """A length of time in the unit that suits it ("3.97 ms", "12.3 us", "640 ns")."""
    unit = _unit(ns)
    return f"{significant(ns / _UNITS[unit])} {unit}"


def durations(low_ns: int, high_ns: int) -> str:
    """A range of lengths in the unit that suits the longer ("300-420 us"), or each in its own where that would hide
    the shorter ("3.00 us - 10.8 ms")."""
    unit = _unit(high_ns)
    if 0 < low_ns * APART < high_ns and _unit(low_ns) != unit:
        return f"{duration(low_ns)} - {duration(high_ns)}"
    ends = dict.fromkeys(significant(ns / _UNITS[unit]) for ns in (low_ns, high_ns))
    return f"{'-'.join(ends)} {unit}"


def share(fraction: float) -> str:
    """A share 0..1 as a percentage ("71.2 %"); what is not nothing never reads 0."""
    percent = 100 * fraction
    return "<0.1 %" if 0 < percent < 0.05 else f"{percent:.1f} %"


def percent(fraction: float) -> str:
    """A share 0..1 as a whole percentage ("71 %")."""
    return f"{100 * fraction:.0f} %"


def size(count: int) -> str:
    """Bytes in decimal units ("20.4 MB")."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{significant(count / scale)} {unit}"
    return f"{count} bytes"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun ("1 step", "1,024 kernels")."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def parse_duration(text: str) -> int:
    """Ns of a length of time with its unit ("12ms", "1.5 s"), exactly; zero needs none. ValueError otherwise."""
    if text.strip() == "0":
        return 0
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time with a unit (12ms, 350us, 1.5s)")
    ns = Decimal(match["number"]) * _UNITS[match["unit"]]
    if ns > LONGEST_NS:
        raise ValueError(f"{text!r} is longer than any trace")
    return int(ns)


def parse_span(text: str) -> tuple[int, int]:
    """Ns of both ends of "A..B"; ValueError otherwise."""
    first, dots, last = text.partition("..")
    if not dots:
        raise ValueError(f"{text!r} is not a range A..B (12ms..15ms)")
    start, end = parse_duration(first), parse_duration(last)
    if end <= start:
        raise ValueError(f"the range {text} {'is empty' if end == start else 'ends before it starts'}")
    return start, end


def _decimals(ms: float) -> int:
    return sum(0 < abs(ms) < bound for bound in (99.95, 9.995, 0.1995, 0.01995, 0.00995))


def _unit(ns: int) -> str:
    size = abs(ns)
    return "ns" if size < 1_000 else "us" if size < 999_500 else "ms" if size < 999_500_000 else "s"
