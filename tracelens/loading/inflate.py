"""Decompression of a trace block by block, in bounded memory."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from tracelens.loading.places import Inflater, Place, Places, gzip_member

GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
BLOCK: Final = 1 << 20
"""Most decompressed bytes handed on at once: a gzip bomb costs time, not memory."""
_GZIP_PIECE: Final = 1 << 16
"""Compressed bytes that are inflated at once."""
_ZSTD_PIECE: Final = 1 << 8
"""The output of zstd cannot be limited: four bytes may hold 128 KB."""


class _Decompressor(Protocol):
    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, /) -> bytes: ...


class DamagedStreamError(Exception):
    """The bytes end or break before their end; what came before is sound."""


def compression_of(head: bytes) -> str:
    """ "gzip", "zstd" or "" by the first bytes, whatever the file's name says."""
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith(ZSTD_MAGIC) else ""


def gunzip(blocks: Iterable[bytes], places: Places | None = None, begin: Place | None = None) -> Iterator[bytes]:
    """Text of gzip data of one or several members; DamagedStreamError when it is cut short or broken.

    `blocks` and the text begin at the place `begin`; places further on are offered to `places`.
    """
    place = begin or Place()
    member, text_done, data_done = place.inflater.copy(), place.text, place.data
    begun = data_done > 0
    for data in _pieces(blocks, _GZIP_PIECE):
        while data:
            before = Place(text_done, data_done, member.copy())
            if places:
                places.offer(before)
            try:
                text = member.decompress(data, BLOCK)
            except zlib.error as error:
                yield from _sound_part(before.inflater, data)
                raise DamagedStreamError(f"gzip data damaged ({error})") from None
            if text:
                yield text
            rest = member.unused_data.lstrip(b"\0") if member.eof else member.unconsumed_tail
            text_done, data_done, data = text_done + len(text), data_done + len(data) - len(rest), rest
            member, begun = (gzip_member(), False) if member.eof else (member, True)
    if begun:
        yield from filter(None, [member.flush()])
        raise DamagedStreamError("gzip data cut short")


def _pieces(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Blocks in pieces so small that thousands of members in one do not copy its rest thousands of times."""
    for block in blocks:
        yield from (block[at : at + size] for at in range(0, len(block), size))


def _sound_part(member: Inflater, data: bytes) -> Iterator[bytes]:
    """What can be had of a block before the byte at which it breaks: an error keeps back all of a call's output."""
    for size in (4096, 64, 1):
        at = 0
        while at < len(data):
            before = member.copy()
            try:
                text = member.decompress(data[at : at + size])
            except zlib.error:
                member, data = before, data[at : at + size]
                break
            at += size
            if text:
                yield text


def unzstd(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Text of zstd data of one or several frames; ImportError when neither Python nor a package brings zstd."""
    return _gathered(_unzstd(blocks))


def _unzstd(blocks: Iterable[bytes]) -> Iterator[bytes]:
    frame, begun = _zstd_decompressor(), False
    for data in _pieces(blocks, _ZSTD_PIECE):
        while data:
            try:
                text = frame.decompress(data)
            except Exception as error:  # each implementation has its own class
                raise DamagedStreamError(f"zstd data damaged ({error})") from None
            yield text
            data = frame.unused_data if frame.eof else b""
            frame, begun = (_zstd_decompressor(), False) if frame.eof else (frame, True)
    if begun:
        raise DamagedStreamError("zstd data cut short")


def _gathered(texts: Iterable[bytes]) -> Iterator[bytes]:
    """The same text in blocks of sensible size, also what comes before damage."""
    held = bytearray()
    try:
        for text in texts:
            held += text
            if len(held) >= BLOCK:
                yield bytes(held)
                held.clear()
    except DamagedStreamError:
        yield bytes(held)
        raise
    if held:
        yield bytes(held)


def _zstd_decompressor() -> _Decompressor:
    try:
        return importlib.import_module("compression.zstd").ZstdDecompressor()
    except ImportError:
        return importlib.import_module("zstandard").ZstdDecompressor().decompressobj()
