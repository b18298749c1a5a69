"""Where traces come from: files, directories, pipes; and what is refused."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.loading.traces import event, kineto, load_bytes, zipped
from tracelens.errors import UnreadableError
from tracelens.loading import load_trace, places, reread, sources
from tracelens.loading.inflate import DamagedStreamError, gunzip
from tracelens.loading.prefetch import prefetched
from tracelens.loading.reread import event_args

DATA = kineto([event(args={"device": 0, "any": {"deep": [1]}})])


@pytest.mark.parametrize("name", ["a.json", "a.pt.trace.json.gz"])
def test_a_directory_stands_for_its_single_trace(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(zipped(DATA) if name.endswith("gz") else DATA)
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("")
    assert load_trace(tmp_path).source.path == str(tmp_path / name)


def test_a_directory_of_runs_names_them(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"\.json\.zst trace in this directory; name a trace file$"):
        load_trace(tmp_path)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "run.json").write_text("{}")
    with pytest.raises(UnreadableError, match=r"name a run below it \(.*first\)$"):
        load_trace(tmp_path)


def test_a_refusal_gives_one_hint(tmp_path: Path) -> None:
    (tmp_path / "copy.json").write_text('{"schema_version": 1, "environment": {}, "forms": {}}')
    with pytest.raises(UnreadableError, match=r"^[^;]*; name the directory it lies in$"):
        load_trace(tmp_path / "copy.json")


def test_a_directory_of_several_traces_lists_them(tmp_path: Path) -> None:
    for name in ("b.json", "a.json"):
        (tmp_path / name).write_bytes(DATA)
    with pytest.raises(UnreadableError, match=r"2 traces in this directory \(a\.json, b\.json\).*, as \S*a\.json \("):
        load_trace(tmp_path)


def test_a_directory_without_a_trace_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"no \.json, \.json\.gz or \.json\.zst trace"):
        load_trace(tmp_path)


@pytest.mark.parametrize("path", ["missing.json", "/dev/null", "nul\0byte.json"])
def test_what_cannot_be_opened_is_one_line(path: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as refusal:
        load_trace(tmp_path / path)
    assert "\n" not in str(refusal.value)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(zipped(DATA))))
    trace = load_trace("-")
    assert len(trace.events) == 1
    assert trace.source.compression == "gzip"
    with pytest.raises(UnreadableError, match="standard input cannot be read again"):
        event_args(trace, 0)


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(DATA,))
    writer.start()
    assert len(load_trace(pipe).events) == 1
    writer.join()


def test_sizes_of_the_source(tmp_path: Path) -> None:
    trace = load_bytes(zipped(DATA), tmp_path, "trace.json.gz")
    assert trace.source.size == len(zipped(DATA))
    assert trace.source.decoded_size == len(DATA)


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_all_arguments_of_one_event_are_read_again(name: str, tmp_path: Path) -> None:
    many = [event(ts=n, args={"number": n, "text": "x" * (n % 50)}) for n in range(30_000)]
    data = kineto(many)
    trace = load_bytes(zipped(data) if name.endswith("gz") else data, tmp_path, name)
    for row in (0, 17, 29_999):
        assert event_args(trace, row) == many[row]["args"]


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_arguments_of_another_file_of_the_same_layout_are_not_shown(name: str, tmp_path: Path) -> None:
    first, other = (kineto([event(args={"number": number})]) for number in (1, 2))
    packed = zipped if name.endswith("gz") else bytes
    trace = load_bytes(packed(first), tmp_path, name)
    assert event_args(trace, 0) == {"number": 1}
    Path(trace.source.path).write_bytes(packed(other))
    # Clocks of file systems may not have moved on since.
    os.utime(trace.source.path, (1, 1))
    with pytest.raises(UnreadableError, match="the file changed since it was loaded"):
        event_args(trace, 0)


def test_arguments_of_a_file_that_is_gone(tmp_path: Path) -> None:
    trace = load_bytes(DATA, tmp_path)
    Path(trace.source.path).write_bytes(b"other")
    with pytest.raises(UnreadableError, match="the file changed"):
        event_args(trace, 0)
    Path(trace.source.path).unlink()
    with pytest.raises(UnreadableError, match="still there"):
        event_args(trace, 0)


def test_a_gzip_bomb_is_inflated_piece_by_piece() -> None:
    pieces = gunzip([zipped(bytes(50_000_000))])
    assert max(map(len, pieces)) <= 1 << 20


def test_a_broken_block_gives_what_comes_before_the_damage() -> None:
    text = bytes(os.urandom(200_000))
    data = bytearray(zipped(text))
    data[150_000:150_100] = bytes(100)
    pieces: list[bytes] = []
    with pytest.raises(DamagedStreamError):
        deque(map(pieces.append, gunzip([bytes(data)])), maxlen=0)
    got = b"".join(pieces)
    assert len(got) > 100_000
    assert text.startswith(got[:140_000])


def test_blocks_fetched_ahead_stop_when_nobody_wants_more() -> None:
    running = threading.active_count()
    ahead = prefetched(iter([b"x"] * 1000))
    assert next(ahead) == b"x"
    ahead.close()
    assert threading.active_count() == running


def test_an_error_of_blocks_fetched_ahead_is_raised_behind_them() -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise DamagedStreamError("cut")

    ahead = prefetched(broken())
    assert next(ahead) == b"a"
    with pytest.raises(DamagedStreamError, match="cut"):
        next(ahead)


def test_zstd_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    empty_frame = b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"
    with pytest.raises(UnreadableError, match=r"zstandard|empty") as refusal:
        load_bytes(empty_frame, tmp_path, "trace.json.zst")
    assert "\n" not in str(refusal.value)


def test_one_event_is_inflated_from_a_place_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [event(ts=n, args={"number": n, "text": f"{n * 7919:x}" * 300}) for n in range(8000)]
    trace = load_bytes(zipped(kineto(many)), tmp_path, "trace.json.gz")
    inflated: list[int] = []

    def counted(blocks: Iterator[bytes], begin: places.Place) -> Iterator[bytes]:
        for block in gunzip(blocks, begin=begin):
            inflated.append(len(block))
            yield block

    monkeypatch.setattr(reread, "gunzip", counted)
    for row in (0, 4000, 7999):
        inflated.clear()
        assert event_args(trace, row) == many[row]["args"]
        assert sum(inflated) < trace.source.decoded_size / 2


def test_places_stay_few_and_evenly_apart() -> None:
    kept = places.Places()
    for number in range(10_000):
        kept.offer(places.Place(number * places.APART, number))
    assert 0 <= 9_000 * places.APART - kept.before(9_000 * places.APART).text <= 100 * places.APART
    assert kept.before(0).text == 0


def test_places_go_on_across_members() -> None:
    texts = [os.urandom(50_000) for _ in range(40)]
    data, whole = b"".join(map(zipped, texts)), b"".join(texts)
    kept = places.Places(_apart=100_000)
    assert b"".join(gunzip([data], kept)) == whole
    place = kept.before(1_500_000)
    assert place.text > 1_300_000
    assert b"".join(gunzip([data[place.data :]], begin=place)) == whole[place.text :]


def test_thousands_of_empty_members_are_read_over(tmp_path: Path) -> None:
    data = zipped(b"") * 30_000 + zipped(DATA)
    assert len(load_bytes(data, tmp_path, "trace.json.gz").events) == 1


def test_a_bomb_is_stopped_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST_SURELY", 1 << 20)
    bomb = zipped(b"[" + b'{"ph":"X","ts":1},' * 200_000)
    trace = load_bytes(bomb, tmp_path, "trace.json.gz")
    assert 0 < len(trace.events) < 200_000
    assert "300-fold" in trace.repairs[-1].example


def test_a_file_without_permission_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "trace.json").write_bytes(DATA)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableError, match=r"trace\.json: cannot be read \(Permission denied\)"):
        load_trace(tmp_path / "trace.json")
