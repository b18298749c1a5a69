"""The page of trust checks."""

from __future__ import annotations

import pytest

from tests.build import TraceBuilder
from tracelens.api import report
from tracelens.tui.pages.checks import checks
from tracelens.tui.rows import text


@pytest.mark.parametrize("width", [68, 104, 176])
def test_every_message_is_told_whole(width: int) -> None:
    document = report(TraceBuilder().op("aten::add", start=0, dur=5).trace()).document
    rows = [text(line) for line in checks(document, width)]
    assert all(len(line) <= width for line in rows)
    letters = "".join("".join(line[36:] for line in rows[1:]).split())
    for check in document["trust"]["checks"]:
        assert check["message"].replace(" ", "") in letters
    assert rows[1].startswith("! ")


def test_a_check_with_nothing_to_check_is_marked_as_neither() -> None:
    document = report(TraceBuilder().op("aten::add", start=0, dur=5).trace()).document
    rows = [text(line) for line in checks(document, 104)]
    marks = {line.split()[1]: line[0] for line in rows[1:] if line[0] != " "}
    for check in document["trust"]["checks"]:
        assert marks[check["id"]] == ("!" if not check["passed"] else "-" if check["value"] is None else "+")
