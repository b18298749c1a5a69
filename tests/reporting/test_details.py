from __future__ import annotations

import json

from tracelens.reporting.details import to_json, to_text

DETAILS = {
    "handle": "k-12",
    "name": "gemm\x1b[2J",
    "start_ns": 12_345,
    "ns": 640,
    "where": None,
    "called_by": ["o-3 aten::mm", "model.py(41): forward"],
    "launch": {"queued_ns": 2_000},
    "arguments": {"grid": [2, 3, 1], "External id": 7, "kernel_file": "a.py", "empty": {}},
}


def test_details_read_as_lines() -> None:
    assert to_text(DETAILS).splitlines() == [
        "handle     k-12",
        "name       gemm\\x1b[2J",
        "start      12.3 us (12,345 ns)",
        "length     640 ns",
        "called by  o-3 aten::mm",
        "           model.py(41): forward",
        "launch",
        "  queued  2.00 us (2,000 ns)",
        "arguments",
        "  grid         [2,3,1]",
        "  External id  7",
        "  kernel_file  a.py",
    ]


def test_details_keep_their_numbers_in_json() -> None:
    assert json.loads(to_json(DETAILS)) == DETAILS


def test_no_details_are_no_error() -> None:
    assert to_text({}) == "\n"


def test_json_obeys_no_terminal_and_hides_nothing() -> None:
    hidden = {"name": "a\x9b\x7f\u202e\u2028\u2029\ufeff\u200b\U000e0001é中\x1b"}
    text = to_json(hidden)
    assert all(line.isprintable() for line in text.splitlines())
    assert "é中" in text
    assert json.loads(text) == hidden
