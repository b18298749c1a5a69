"""tracelens show."""

from __future__ import annotations

import argparse
import sys

from tracelens.cli import output
from tracelens.cli.command import add_json, add_trace
from tracelens.exitcodes import ExitCode


class ShowCommand:
    """Tell all about one event."""

    name = "show"
    summary = "all that is known of one gap, sync point, launch, device event or operator"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the trace and the handle."""
        add_trace(parser)
        parser.add_argument(
            "handle",
            metavar="HANDLE",
            help="as reports print it: g-12 a gap, s-3 a sync point, l-7 a launch, k-5 a device event, o-9 an operator",
        )
        add_json(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print the details."""
        from tracelens.analysis import describe
        from tracelens.cli.reading import read
        from tracelens.reporting.details import to_json, to_text

        details = describe(read(options.trace), options.handle)
        color = output.is_colored(sys.stdout)
        output.emit(to_json(details) if options.json else to_text(details, color=color))
        return ExitCode.OK
