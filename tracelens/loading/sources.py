"""Where the bytes of a trace come from: a file or standard input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from tracelens.errors import UnreadableError
from tracelens.loading.inflate import BLOCK, DamagedStreamError, compression_of, gunzip, unzstd
from tracelens.loading.places import Places, file_key, remember
from tracelens.loading.prefetch import prefetched

STDIN: Final = "-"
SUFFIXES: Final = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""What a file's name says of its compression."""
LARGEST_SURELY: Final = 1 << 28
"""Bytes of text that any compressed file may have."""
MOST_GROWTH: Final = 300
"""How many times the compressed bytes a longer text may be; traces grow 10-fold to 50-fold."""


class Input:
    """One input as decompressed blocks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = _open(path)
        self.done = 0
        """Bytes read so far, before decompression."""
        self.version = () if path == STDIN else file_key(self._file.fileno())
        """As the loaded trace keeps it."""
        self.total = _size(self._file)
        """Bytes on disk, 0 if unknown."""
        self._head = self._first_block()
        self.compression = compression_of(self._head)

    @property
    def misnamed(self) -> bool:
        """Whether the name says something else about compression than the content."""
        if self.path == STDIN or not self._head:
            return False
        return SUFFIXES.get(Path(self.path).suffix.lower(), "") != self.compression

    def blocks(self) -> Generator[bytes]:
        """The decompressed bytes; DamagedStreamError where they break off. Close it to stop early."""
        if not self.compression:
            return self._raw()
        return prefetched(self._bounded(self._gunzip() if self.compression == "gzip" else self._zstd()))

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self.path != STDIN:
            self._file.close()

    def _first_block(self) -> bytes:
        try:
            return self._file.read(BLOCK)
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def _raw(self) -> Generator[bytes]:
        block = self._head
        while block:
            self.done += len(block)
            yield block
            try:
                block = self._file.read(BLOCK)
            except OSError as error:
                raise DamagedStreamError(f"reading stopped ({error.strerror})") from None

    def _gunzip(self) -> Iterator[bytes]:
        """Inflate, and remember places to go on from."""
        places = Places()
        if self.path != STDIN:
            remember(file_key(self._file.fileno()), places)
        return gunzip(self._raw(), places)

    def _bounded(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """End what grows beyond all measure: each event in it would take memory."""
        grown = 0
        for block in blocks:
            grown += len(block)
            if grown > LARGEST_SURELY and grown > MOST_GROWTH * self.done:
                raise DamagedStreamError(f"it inflates more than {MOST_GROWTH}-fold; decompress it first if it should")
            yield block

    def _zstd(self) -> Iterator[bytes]:
        try:
            yield from unzstd(self._raw())
        except ImportError:
            raise UnreadableError(
                f"{self.path}: zstd-compressed, which needs Python 3.14 or the zstandard package; install it or run "
                "zstd -d first"
            ) from None


def _open(path: str) -> BinaryIO:
    if path == STDIN:
        if not sys.stdin:
            raise UnreadableError("-: standard input is closed; pipe a trace into it or name a file")
        return sys.stdin.buffer
    try:
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise UnreadableError(f"{path}: neither a file nor a pipe; name a trace file")
        return Path(path).open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError:
        raise UnreadableError(f"{path!r}: not a usable file name; check the path") from None


def _unreadable(path: str, error: OSError) -> UnreadableError:
    return UnreadableError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions")


def _size(file: BinaryIO) -> int:
    """Bytes of a regular file, 0 of a pipe."""
    try:
        return os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return 0
