"""Errors that end a command with one line."""

from __future__ import annotations

from tracelens.exitcodes import ExitCode


class TraceLensError(Exception):
    """What is wrong, where, and what to do, in one line; carries the command's exit code."""

    exit_code: ExitCode = ExitCode.USAGE


class UsageError(TraceLensError):
    """The command's words are off."""


class UnreadableError(TraceLensError):
    """The input cannot be read as a torch.profiler trace."""

    exit_code = ExitCode.UNREADABLE
