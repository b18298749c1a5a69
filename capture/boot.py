"""Starts one form's process, with this package's name left to the script.

Run by path, not by name, so that a `capture.py` beside the script can never be taken for this package.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


class Package:
    """This package's modules: under their names only while more of them are imported, else those are the script's."""

    def __init__(self) -> None:
        self._folder = Path(__file__).resolve().parent
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def present(self) -> Generator[None]:
        """Within the block, an import of the package's name finds this package."""
        scripts, parent = self._taken(), str(self._folder.parent)
        sys.modules.update(self._modules)
        sys.path.insert(0, parent)
        try:
            yield
        finally:
            sys.path.remove(parent)
            self._modules = self._taken()
            sys.modules.update(scripts)

    def _taken(self) -> dict[str, ModuleType]:
        """Take all modules of that name out of the interpreter's table."""
        name = self._folder.name
        return {key: sys.modules.pop(key) for key in list(sys.modules) if key.split(".")[0] == name}


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    package = Package()
    with package.present():
        from capture.child import run_job
    sys.exit(run_job(sys.argv[1], package.present))
