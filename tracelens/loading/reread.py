"""The arguments of one event on demand, read again from the file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from tracelens.errors import UnreadableError
from tracelens.loading.careful import parse, parse_mended
from tracelens.loading.inflate import DamagedStreamError, gunzip
from tracelens.loading.jsontext import as_object
from tracelens.loading.places import file_key, places_of
from tracelens.loading.sources import STDIN, Input
from tracelens.model.events import Source, Trace

_READ: Final = 1 << 16
"""Compressed bytes that are read at once."""


def event_args(trace: Trace, row: int) -> dict[str, Any]:
    """All arguments of one event; UnreadableError if the file is gone or changed, or was a stream."""
    source, start = trace.source, int(trace.events.offset[row])
    if source.path == STDIN:
        raise UnreadableError("-: standard input cannot be read again; save the trace to a file for all its arguments")
    text = _text(source, start, int(trace.events.length[row]))
    found = parse(text) or (parse_mended(text) or (None, []))[0]
    if found is None or file_key(source.path) != source.version:
        raise UnreadableError(f"{source.path}: no event at byte {start}; the file changed since it was loaded")
    return as_object(found.get("args")) or {}


def _text(source: Source, start: int, length: int) -> bytes:
    """A stretch of the decompressed text."""
    if source.compression == "zstd":
        with closing(Input(source.path)) as again, closing(again.blocks()) as blocks:
            return _stretch(blocks, start, length)
    try:
        with Path(source.path).open("rb") as file:
            if source.compression:
                return _inflated(file, start, length)
            file.seek(start)
            return file.read(length)
    except OSError as error:
        what = f"cannot be read again ({error.strerror}); is the file still there?"
        raise UnreadableError(f"{source.path}: {what}") from None


def _inflated(file: BinaryIO, start: int, length: int) -> bytes:
    """A stretch of gzip data's text, from the last known place before it."""
    place = places_of(file_key(file.fileno())).before(start)
    file.seek(place.data)
    return _stretch(gunzip(iter(lambda: file.read(_READ), b""), begin=place), start - place.text, length)


def _stretch(blocks: Iterable[bytes], start: int, length: int) -> bytes:
    """Bytes from `start` on, as far as the blocks go."""
    parts: list[bytes] = []
    at = 0
    with suppress(DamagedStreamError):
        for block in blocks:
            parts.append(block[max(0, start - at) :])
            at += len(block)
            if at >= start + length:
                break
    return b"".join(parts)[:length]
