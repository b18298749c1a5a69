"""tracelens rules and tracelens explain."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from tracelens.cli import output
from tracelens.cli.command import add_json, add_trace, add_window
from tracelens.errors import UsageError
from tracelens.exitcodes import ExitCode

LOOKED_THROUGH: Final = 1_000
"""Rows of each table in which a name is looked for, the costliest."""


class RulesCommand:
    """List what reports look for."""

    name = "rules"
    summary = "what reports look for: the rules behind the findings"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the format."""
        add_json(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print every rule with when it fires."""
        from tracelens.advice.explain import explain
        from tracelens.reporting.explanations import rules_text, to_json

        ids = explain.topics()["rule"]
        rules = [found for rule in ids for found in explain.explain(rule) if found.kind == "rule"]
        output.emit(to_json(rules) if options.json else rules_text(rules, **_page()))
        return ExitCode.OK


class ExplainCommand:
    """Follow a figure to its source, and to its values in a report."""

    name = "explain"
    summary = "formula, constants and source of a finding or figure, and its values in a report"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare what to explain."""
        parser.add_argument(
            "topic",
            metavar="NAME",
            nargs="?",
            help="a rule, a figure (replay, confidence, ...), a blocker, a trust check, a part of the account "
            "(dispatch.python), or any key or word of a report; without it, all of them",
        )
        add_trace(parser, nargs="?", more="; with it, the values of NAME in its report")
        add_json(parser)
        add_window(parser)

    def run(self, options: argparse.Namespace) -> ExitCode:
        """Print the explanation, or what can be explained."""
        from tracelens.advice.explain import explain
        from tracelens.reporting.explanations import list_text, to_json, to_text

        if options.trace is not None:
            return _follow(options)
        if any(chosen is not None for chosen in (options.step, options.range, options.device)):
            raise UsageError("--step, --range and --device choose what to judge of a trace: name it behind NAME")
        if options.topic is None:
            topics = explain.topics()
            output.emit(to_json(topics) if options.json else list_text(topics, **_page()))
        else:
            found = explain.explain(options.topic)
            output.emit(to_json(found) if options.json else to_text(found, **_page()))
        return ExitCode.OK


def _follow(options: argparse.Namespace) -> ExitCode:
    """Print what the name stands for in the report on a trace, and the explanation."""
    from tracelens.advice.explain import explain
    from tracelens.cli.reading import report
    from tracelens.reporting.explanations import to_text, values_json, values_text

    found = explain.explain(options.topic)
    document = report(options).limited(LOOKED_THROUGH)
    if options.json:
        output.emit(values_json(options.topic, document, found))
    else:
        output.emit(f"{values_text(options.topic, document, found, **_page())}\n{to_text(found, **_page())}")
    return ExitCode.OK


def _page() -> dict[str, Any]:
    """How standard output shows text."""
    out = sys.stdout
    return {"width": output.columns(), "color": output.is_colored(out), "unicode": output.is_unicode(out)}
