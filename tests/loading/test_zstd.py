"""Traces that zstd has compressed, damaged ones included."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path

import pytest

from tests.loading.traces import event, kineto, load_bytes
from tracelens.loading import load_trace, sources
from tracelens.loading.inflate import unzstd
from tracelens.loading.reread import event_args

pytestmark = pytest.mark.usefixtures("either_scan")

needs_zstd = pytest.mark.skipif(not importlib.util.find_spec("zstandard"), reason="zstandard is not installed")


@needs_zstd
@pytest.mark.parametrize("frames", [1, 3])
def test_zstd_is_read_as_gzip_is(frames: int, tmp_path: Path) -> None:
    zstandard = importlib.import_module("zstandard")
    events = [event(f"op {n}", ts=n, args={"number": n, "text": "x" * (n % 300)}) for n in range(20_000)]
    data = kineto(events)
    cuts = [len(data) * part // frames for part in range(frames + 1)]
    packed = b"".join(zstandard.ZstdCompressor().compress(data[a:b]) for a, b in pairwise(cuts))
    trace = load_bytes(packed, tmp_path, "trace.json.zst")
    assert trace.source.compression == "zstd"
    assert trace.source.decoded_size == len(data)
    assert len(trace.events) == 20_000
    assert trace.repairs == ()
    assert event_args(trace, 19_999) == events[-1]["args"]


@needs_zstd
def test_a_zstd_bomb_is_stopped_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST_SURELY", 1 << 22)
    zstandard = importlib.import_module("zstandard")
    blocks = unzstd([zstandard.ZstdCompressor().compress(bytes(1 << 27))])
    assert max(map(len, blocks)) < 1 << 24
    bomb = zstandard.ZstdCompressor().compress(b"[" + b'{"ph":"X","ts":1},' * 240_000)
    assert "300-fold" in load_bytes(bomb, tmp_path, "bomb.json.zst").repairs[-1].example


@needs_zstd
def test_damaged_zstd_keeps_what_comes_before(tmp_path: Path) -> None:
    zstandard = importlib.import_module("zstandard")
    data = kineto([event(f"op {n * 7919}", ts=n) for n in range(60_000)])
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    cut = load_bytes(packed[: len(packed) // 2], tmp_path, "cut.json.zst")
    assert 0 < len(cut.events) < 60_000
    assert "zstd data cut short" in cut.repairs[-1].example
    flipped = bytearray(packed)
    flipped[-2] ^= 255
    (tmp_path / "flipped.json.zst").write_bytes(flipped)
    assert "zstd data damaged" in load_trace(tmp_path / "flipped.json.zst").repairs[-1].example
