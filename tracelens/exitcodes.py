"""Exit codes of every command."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit says."""

    OK = 0
    CONDITION = 1
    """A --fail-on condition holds."""
    USAGE = 2
    UNREADABLE = 3
    NOTHING_TO_JUDGE = 4
    """The trace holds no device work, or no verdict that --fail-on asks for; the document is still written."""
    INTERRUPTED = 130
