"""tracelens capture: hands everything to the package capture, which needs torch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Final

from tracelens.errors import UsageError

PACKAGE: Final = "capture"
HOME: Final = Path(__file__).resolve().parents[2] / PACKAGE


class CaptureCommand:
    """Record a script in four forms."""

    name = "capture"
    summary = "run a script as eager, compile, replay and both; leave one run directory"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Nothing: all words behind the name belong to the package or to the script."""

    def run(self, options: argparse.Namespace) -> int:
        """Run without words, which says what is missing."""
        del options
        return self.run_words([])

    def run_words(self, words: list[str]) -> int:
        """Run with the words behind the command's name; the exit code is the script's own where it fails."""
        cli = _import_cli()
        main: Callable[[list[str]], int] = cli.main
        try:
            cli.parser().parse_args(words)
        except SystemExit as done:
            return int(done.code or 0)
        if util.find_spec("torch") is None:
            raise UsageError(
                "capture runs scripts with torch, which is not installed beside tracelens: "
                f"{sys.executable} -m pip install torch"
            )
        return main(words)


def _import_cli() -> ModuleType:
    """The command line of the package beside ours, even where the current folder has a module of that name."""
    if getattr(sys.modules.get(PACKAGE), "__file__", None) != str(HOME / "__init__.py"):
        spec = util.spec_from_file_location(PACKAGE, HOME / "__init__.py", submodule_search_locations=[str(HOME)])
        if spec is None or spec.loader is None or not HOME.is_dir():
            raise UsageError(f"{HOME} is missing; install torch-tracelens again")
        package = util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return import_module(f"{PACKAGE}.cli")
