"""tracelens rules and tracelens explain."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tracelens.cli import output
from tracelens.cli.command import add_json
from tracelens.exitcodes import ExitCode


class RulesCommand:
    """List what reports look for."""

    name = "rules"
    summary = "what reports look for: the rules behind the findings"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the format."""
        add_json(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print every rule with its title."""
        from tracelens.advice import explain
        from tracelens.reporting.explanations import list_text, to_json

        rules = explain.topics()["rule"]
        if options.json:
            output.emit(to_json([found for rule in rules for found in explain.explain(rule) if found.kind == "rule"]))
        else:
            output.emit(list_text({"rule": rules}, **_page()))
        return ExitCode.OK


class ExplainCommand:
    """Follow a figure to its source."""

    name = "explain"
    summary = "formula, constants and source of a finding or figure"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare what to explain."""
        parser.add_argument(
            "topic",
            metavar="NAME",
            nargs="?",
            help="a rule, a figure (replay, confidence, ...), a blocker, a trust check, a part of the account "
            "(dispatch.python), or any key or word of a report; without it, all of them",
        )
        add_json(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print the explanation, or what can be explained."""
        from tracelens.advice import explain
        from tracelens.reporting.explanations import list_text, to_json, to_text

        if options.topic is None:
            topics = explain.topics()
            output.emit(to_json(topics) if options.json else list_text(topics, **_page()))
        else:
            found = explain.explain(options.topic)
            output.emit(to_json(found) if options.json else to_text(found, **_page()))
        return ExitCode.OK


def _page() -> dict[str, Any]:
    """How standard output shows text."""
    out = sys.stdout
    return {"width": output.columns(), "color": output.is_colored(out), "unicode": output.is_unicode(out)}
