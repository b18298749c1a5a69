"""Why a form cannot run: the exception, the user's line and the prerequisite that failed."""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path
from types import FrameType

from capture.records import FormRecord, blocked

_OWN = str(Path(__file__).resolve().parent)
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))

PREREQUISITES = (
    ("host_copy", ("Cannot copy between CPU and CUDA tensors during CUDA graph capture",)),
    ("optimizer_state", ("capturable",)),
    ("memory", ("out of memory", "allocate memory")),
    ("rng", ("Offset increment outside graph capture", "philox", "generator")),
    ("autocast_cache", ("autocast caching",)),
    ("module_hooks", ("must not have hooks",)),
    ("backward_outside", ("does not require grad",)),
    ("output_overwritten", ("has been overwritten by a subsequent run",)),
    ("default_stream", ("legacy stream depend on a capturing",)),
    ("sync", ("stream is capturing", "StreamCapture", "capturing", "captures_underway")),
    ("compile", ("Unsupported", "BackendCompilerFailed", "InductorError", "InternalTorchDynamoError")),
)
"""Prerequisites and the words by which PyTorch and CUDA say that one failed; the first match counts."""


class Blocked(Exception):
    """A prerequisite of the form fails, found by us rather than by PyTorch."""

    def __init__(self, blocker: str, message: str) -> None:
        super().__init__(message)
        self.blocker = blocker


def is_users(filename: str) -> bool:
    """Return whether a frame's file is the user's: not a library's, not ours, not generated."""
    generated = os.environ.get("TORCHINDUCTOR_CACHE_DIR", "torchinductor_")
    return not filename.startswith((_OWN, *_LIBRARIES, "<")) and generated not in filename


def user_line(error: BaseException) -> str | None:
    """Return `file:line` of the innermost of the user's frames that the error came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users(frame.filename)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def calling_line(frame: FrameType | None) -> str | None:
    """Return `file:line` of the innermost of the user's frames on a running stack."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else None


def cannot_run(error: BaseException) -> FormRecord:
    """Return the record of a form that an exception ended."""
    first = first_cause(error)
    record = blocked(prerequisite(first), _message(first), user_line(first))
    operation = _operation(first)
    if operation:
        record.blockers[0]["operation"] = operation
    return record


def first_cause(error: BaseException) -> BaseException:
    """Return the error that began a chain: ending a broken capture raises again and hides it."""
    while error.__context__ is not None and not error.__suppress_context__ and "captur" in str(error.__context__):
        error = error.__context__
    return error


def prerequisite(error: BaseException) -> str:
    """Return the id of the prerequisite that failed, `error` where none is recognised."""
    if isinstance(error, Blocked):
        return error.blocker
    text = f"{type(error).__name__}: {error}"
    return next((name for name, words in PREREQUISITES if any(word in text for word in words)), "error")


def _message(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _operation(error: BaseException) -> str | None:
    """Return the source text of the user's line, which names the operation."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users(frame.filename)]
    return frames[-1].line if frames and frames[-1].line else None
