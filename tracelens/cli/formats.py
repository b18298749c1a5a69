"""The file that a report is written to: in which format, and that it replaces nothing that was read."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tracelens.cli import output
from tracelens.errors import UsageError


def format_of(path: Path | None, suffixes: Sequence[str], *, json: bool) -> str:
    """The ending of the file's name, one of the suffixes; without a file ".json" or ".txt". UsageError for another
    one, and where JSON is asked for as well."""
    if path is None:
        return ".json" if json else ".txt"
    suffix = path.suffix.lower()
    if not path.name or path.name.lower() in suffixes:
        raise UsageError(f"-o needs a file's name that ends in one of {', '.join(suffixes)}")
    if suffix not in suffixes:
        raise UsageError(f"-o {path}: the name ends in none of {', '.join(suffixes)}")
    if json and suffix != ".json":
        raise UsageError(f"--json and -o {path} ask for different formats")
    return suffix


def expect_apart(path: Path, read: str) -> None:
    """UsageError when the report would replace what it is made from, or be taken for a run's manifest."""
    from tracelens.loading.runs import MANIFESTS  # the command's help needs no arrays

    if any(fnmatchcase(path.name, name) for name in MANIFESTS):
        raise UsageError(f"{path}: a run's manifest has this name; name the report otherwise")
    if path.exists() and (_is_read(path, read) or ".trace." in path.name):
        raise UsageError(f"{path} is a trace; name another file for the report")


def _is_read(path: Path, read: str) -> bool:
    """Whether an existing file is what the report is made from: by its name, or as standard input."""
    if read != "-":
        return output.exists(Path(read)) and path.samefile(read)
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()))
    except (AttributeError, OSError, ValueError):  # closed, or no file
        return False
