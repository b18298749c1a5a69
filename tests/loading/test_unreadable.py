"""What an event gives but nobody can read is counted, with an example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.loading.traces import event, kinds, load_events

pytestmark = pytest.mark.usefixtures("either_scan")


@pytest.mark.parametrize(
    ("changes", "kind", "example"),
    [
        ({"dur": None}, "events without a duration", "null"),
        ({"dur": "3.4 us"}, "events without a duration", "3.4 us"),
        ({"name": None}, "names that are no text", "null"),
        ({"name": 123}, "names that are no text", "123"),
        ({"name": {"a": 1}}, "names that are no text", '{"a":1}'),
        ({"cat": None}, "categories that are no text", "null"),
        ({"args": [1, 2]}, "arguments that are no object", "[1,2]"),
        ({"args": 3}, "arguments that are no object", "3"),
        ({"args": {"correlation": "c-123"}}, "correlations that are no number", "c-123"),
        ({"args": {"correlation": 7.5}}, "correlations that are no number", "7.5"),
        ({"ph": "x"}, "events of an unknown phase", "event at byte "),
        ({"ph": "XX"}, "events of an unknown phase", "event at byte "),
        ({"ph": 3}, "events of an unknown phase", "event at byte "),
    ],
)
def test_what_an_event_gives_but_nobody_can_read_is_counted(
    changes: dict[str, Any], kind: str, example: str, tmp_path: Path
) -> None:
    trace = load_events([event(), event() | changes, event(), event() | changes], tmp_path)
    (found,) = trace.repairs
    assert (found.kind, found.count, found.example[: len(example)]) == (kind, 2, example)
    assert len(trace.events) == 4


@pytest.mark.parametrize(
    "changes", [{"args": None}, {"args": {"correlation": None}}, {"ph": "M", "name": 3}, {"ph": "E", "name": None}]
)
def test_what_an_event_need_not_give_is_not_counted(changes: dict[str, Any], tmp_path: Path) -> None:
    trace = load_events([event(ph="B"), event(ts=120) | {"ph": "E"} | changes], tmp_path)
    assert not kinds(trace).keys() & {"names that are no text", "arguments that are no object"}
    assert "correlations that are no number" not in kinds(trace)
