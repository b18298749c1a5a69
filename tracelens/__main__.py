"""python -m tracelens, and the command tracelens."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # what is imported here is imported before an interruption can be told of
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
"""As tracelens.exitcodes has it."""
CAPTURE = "capture"
"""The command that runs a script."""

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` without the program's name, by default the program's own."""
    try:
        from tracelens.cli.main import main as run

        code = run(argv)
    except KeyboardInterrupt:
        print("tracelens: interrupted", file=sys.stderr)
        code = INTERRUPTED
    if argv is None and (sys.argv[1:2] != [CAPTURE] or _has_threads()):
        _leave(code)
    return code


def _has_threads() -> bool:
    """Whether a thread still reads: the interpreter's end would tear it out of compiled code, and abort."""
    threading = sys.modules.get("threading")
    return threading is not None and any(thread.daemon for thread in threading.enumerate())


def _leave(code: int) -> None:
    """End at once, where no script that was recorded has more to do: the system frees what was read in no time, which
    the interpreter would take apart for a tenth of a second."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
