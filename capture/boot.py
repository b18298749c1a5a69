"""Starts one form's process: imports the package whole, then gives its name back to the script.

Run by path, not by name, so that a `capture.py` beside the script can never be taken for this package.
"""

from __future__ import annotations

import sys
from pathlib import Path


def _import_whole() -> object:
    """Import the package from where this file lies and return the child's entry point."""
    package = Path(__file__).resolve().parent
    sys.path.insert(0, str(package.parent))
    from capture.child import run_job

    sys.path.pop(0)
    return run_job


def _free_name() -> None:
    """Forget the package: a later `import capture` finds the script's own module, also in spawned workers."""
    for name in [name for name in sys.modules if name.split(".")[0] == "capture"]:
        del sys.modules[name]


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    entry = _import_whole()
    _free_name()
    sys.exit(entry(sys.argv[1]))  # pyright: ignore[reportCallIssue, reportUnknownArgumentType]
