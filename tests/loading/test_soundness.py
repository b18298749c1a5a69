"""Damage where no column reads is found and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loading.damaged import AFTER, BEFORE, NAMED, NOT_JSON, READ, damaged
from tests.loading.traces import columns_of, kinds, load_events
from tracelens.loading import soundness

UNREAD = {
    "spare comma": ('{"cbid": 3,, "q": 1}', "spare commas"),
    "comma at the end": ('{"cbid": [1, 2,]}', "spare commas"),
    "bare word": ('{"cbid": {"deep": nan}}', NOT_JSON),
    "number": ('{"cbid": 1.2.3}', NOT_JSON),
    "missing colon": ('{"cbid" 3, "device": 0}', "unescaped quotes"),
    "missing comma": ('{"cbid": 3 "q": 1}', READ),
    "open bracket": ('{"cbid": [3, "device": 0}', READ),
    "stray byte": ('{"cbid": 3, x "device": 0}', READ),
    "stray escape": (r'{"kernel_hash": "a\q"}', "stray backslashes"),
}


@pytest.mark.parametrize("checker", ["sqlite", "none"])
@pytest.mark.parametrize("damage", UNREAD)
def test_damage_where_no_column_reads_is_counted(
    damage: str, checker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if checker == "none":
        monkeypatch.setattr(soundness, "sqlite3", None)
    text, kind = UNREAD[damage]
    trace = load_events([BEFORE, damaged(NAMED + text), AFTER], tmp_path)
    columns = columns_of(trace)
    assert columns["name"] == ["before", "x", "after"]
    assert columns["duration"] == [10_000, 5_000, 10_000]
    assert kinds(trace) == {kind: 1}
    assert trace.repairs[0].example.startswith('{"ph": "X"')


def test_damage_that_nothing_mends_is_counted_once_however_often_it_is_met(tmp_path: Path) -> None:
    kept, skipped = damaged(NAMED + '{"cbid" 3}'), '{"ph": "X", "name": :::, "ts"}'
    trace = load_events([BEFORE, kept, skipped, kept, skipped, kept, AFTER], tmp_path)
    assert columns_of(trace)["name"] == ["before", "x", "x", "x", "after"]
    assert kinds(trace) == {READ: 3, "unreadable event skipped": 2}


def test_damage_is_found_in_every_piece_of_a_slab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundness, "PIECE", 100)
    texts = [damaged(NAMED + ('{"cbid" 3}' if n % 7 == 3 else f'{{"cbid": {n}}}')) for n in range(50)]
    trace = load_events(texts, tmp_path)
    assert len(trace.events) == 50
    assert kinds(trace) == {READ: 7}
    assert trace.repairs[0].offset == trace.events.offset[3]


@pytest.mark.parametrize("args", ['{"cbid": "a\x01"}', '{"cb\x13id": 1}'])
def test_control_characters_are_counted_wherever_they_are(args: str, tmp_path: Path) -> None:
    trace = load_events([BEFORE, damaged(NAMED + args), AFTER], tmp_path)
    assert columns_of(trace)["name"] == ["before", "x", "after"]
    assert kinds(trace) == {"control characters in text": 1}
