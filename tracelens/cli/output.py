"""Where a command's data goes: standard output, or a file that is complete or absent."""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from tracelens.errors import UsageError
from tracelens.reporting.printable import printable

WIDEST: Final = 1_000
"""Columns of a page, however wide the terminal says it is: bars are as wide as the page."""


class _Closed(io.StringIO):
    """In place of the standard output that the caller closed: what would be written there is lost, and that is said."""


def open_streams() -> None:
    """Give the streams that the caller closed somewhere to write to."""
    sys.stdout = sys.stdout or _Closed()
    nowhere = Path(os.devnull)
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")


def emit(text: str) -> None:
    """Write to standard output; a reader that has gone is no error, a full disk is a UsageError."""
    emit_all((text,))


def emit_all(texts: Iterable[str]) -> None:
    """Write one text after the other, as `emit` does."""
    out = sys.stdout
    if isinstance(out, _Closed):
        raise UsageError("standard output is closed; write a file with -o, or redirect to /dev/null")
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace", newline="\n")
    try:
        out.writelines(texts)
        out.flush()
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise UsageError(f"cannot write to standard output: {error.strerror}") from error


def note(text: str) -> None:
    """Write a diagnostic line to standard error; what a path or a name holds can neither break nor colour it."""
    try:
        print(f"tracelens: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        # Where nothing can be written, the exit code still tells.
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Let go of what the stream could not write: Python flushes once more at exit and would complain then."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def expect_writable(path: Path, *, force: bool) -> None:
    """UsageError when the file is there and may not be replaced, or cannot be put there; asked before any work."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file in it")
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise UsageError(f"{path} is no file: a pipe, a socket or a device; leave -o out and redirect the output to it")
    if mode is not None and not force:
        raise UsageError(f"{path} exists; --force overwrites it")
    if path.is_symlink():
        raise UsageError(f"{path} is a link; name the file that it leads to, or another")
    if not path.parent.is_dir():
        wrong = "is not a directory; name another" if path.parent.exists() else "does not exist; create it first"
        raise UsageError(f"{path.parent} {wrong}")


def exists(path: Path) -> bool:
    """Whether something is there; a name that is too long for a file names nothing."""
    try:
        return path.exists()
    except OSError:
        return False


def write_file(path: Path, texts: Iterable[str], *, force: bool) -> None:
    """Write the whole file or nothing; UsageError when it cannot be written, or another took its place meanwhile."""
    expect_writable(path, force=force)
    part = path.with_name(f".tracelens.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(texts)
        if force and exists(path):
            shutil.copymode(path, part)
        elif not force:
            path.open("x").close()
        part.replace(path)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; --force overwrites it") from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def is_colored(stream: TextIO) -> bool:
    """Whether the stream is a terminal that wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def is_unicode(stream: TextIO) -> bool:
    """Whether the stream can print glyphs beyond ASCII."""
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def columns() -> int:
    """Width of the terminal, at most WIDEST; 80 for pipes, unless COLUMNS says otherwise."""
    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST)
