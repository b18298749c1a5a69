"""From the words of a command to a trace and its report."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tracelens.cli.progress import Progress

if TYPE_CHECKING:
    from tracelens.api import Trace
    from tracelens.reporting.report import Report


def read(path: str) -> Trace:
    """The trace, with progress on a terminal."""
    from tracelens import api

    with Progress() as progress:
        return api.load(path, progress=progress)


def report(options: argparse.Namespace) -> Report:
    """The report that the options ask for."""
    from tracelens import api

    with Progress() as progress:
        return api.report(
            options.trace, device=options.device, step=options.step, span=options.range, progress=progress
        )
