"""Whatever a trace is named and says, no output moves the cursor, hides, runs, links or calls anybody."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracelens
from tests.build import TraceBuilder
from tests.fuzz.structured import TABLES
from tracelens.__main__ import main

HOSTILE = [
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[31m",
    "\x9b31m",
    "\u202egnp.exe\u2066",
    "\u200b\ufeff\u2028",
    "<script>alert(1)</script>",
    "</code></td><img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r\n# heading\n| a | b |",
    "[a](javascript:alert(1)) ![b](http://e/x.png) https://e.org",
    "`` ` ``` ~~~ <!-- -->",
    "@team #12",
    "\x00\x7f\x85\ud800",
    "{0} %s \\x1b \\",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=20)
QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def write(texts: list[str], folder: Path) -> Path:
    """A trace that says these texts in every place where words go."""
    say = itertools.cycle(texts).__next__
    build = TraceBuilder(metadata={say(): say(), "INFO": [say()], "distributedInfo": {"rank": 0, "backend": say()}})
    build.device_name(0, say()).thread_name(7, say()).annotation(say(), 0, 4, thread=7)
    for step in range(3):
        at = 100.0 * step
        build.step(step, at, 90).python(f"{say()}(3): {say()}", at, 80).op(say(), at + 1, 30, dtypes=[say()])
        build.launch(say(), at + 2, at=at + 30, runs=20).sync(at + 40, 12)
    build.raw({"ph": "X", "cat": say(), "name": say(), "pid": say(), "tid": say(), "ts": 5, "args": {say(): say()}})
    # A backslash before the closing quote would leave two readings of the event, neither sure.
    damage = texts[0].rstrip("\\").encode("utf-8", "replace")
    data = build.bytes().replace(b'"cbid": 0', b'"cbid": nan, "\xff": "%b"' % damage)
    path = folder / "trace.json"
    path.write_bytes(data)
    return path


def assert_plain(text: str) -> None:
    """Nothing but visible characters and line ends."""
    assert not [char for char in text if char != "\n" and unicodedata.category(char) in HIDDEN]


@QUIET
@given(texts=st.lists(TEXTS, min_size=1, max_size=12))
def test_a_report_is_inert(texts: list[str], tmp_path: Path) -> None:
    report = tracelens.report(write(texts, tmp_path))
    assert report.document["tables"]["kernels"]
    assert_plain(report.to_text(limit=None))
    markdown = report.to_markdown(limit=None)
    assert_plain(markdown)
    assert_no_markup(markdown)
    for table in TABLES:
        for cell in (cell for row in csv.reader(io.StringIO(report.to_csv(table))) for cell in row):
            assert_plain(cell)
            assert "\n" not in cell
            assert not cell.startswith(("=", "+", "@", "-")) or re.fullmatch(r"-?\d+(\.\d+)?", cell)


def assert_no_markup(markdown: str) -> None:
    """Outside code spans no tag but those that fold, no link, no image, no mention."""
    for line in markdown.splitlines():
        rest = CODE.sub("", line) if not line.startswith("    ") else ""
        assert not re.search(r"(?<!\\)<(?!/?(details|summary|br|sub|b)\b|!-- -->)", rest), line
        assert not re.search(r"(?<!\\)\]\(|(?<!\\)!\[", rest), line
        assert not re.search(r"(?<![\w&`\\])@\w", rest), line


@QUIET
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_what_is_shown_of_an_event_is_inert(texts: list[str], tmp_path: Path) -> None:
    path = str(write(texts, tmp_path))
    for handle in ("o-1", "k-1", "l-1", "s-1", "g-1"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            assert main(["show", path, handle]) == 0
        assert_plain(said.getvalue())


@pytest.mark.parametrize("name", ["\x1b[31mred.json", "a\nb.json", "\u202egnp.json", "<b>.json"])
def test_a_refusal_and_a_report_name_the_file_in_visible_characters(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(b"hello")
    assert main(["report", str(tmp_path / name)]) == 3
    refusal = capsys.readouterr().err
    assert_plain(refusal)
    assert refusal.count("\n") == 1
    (tmp_path / name).write_bytes(TraceBuilder().op("aten::mm", 0, 10).launch("k", 1, at=20).bytes())
    assert main(["report", str(tmp_path / name)]) == 0
    printed = capsys.readouterr()
    assert_plain(printed.out + printed.err)
