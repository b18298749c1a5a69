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
