"""Explanations and lists of what can be explained, as text or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tracelens.advice.explain.explain import Explanation
from tracelens.advice.explain.sources import Constant, Function
from tracelens.advice.terms import DECIDED, TERMS
from tracelens.model import units
from tracelens.reporting.grid import Column
from tracelens.reporting.ink import Ink
from tracelens.reporting.json_text import written
from tracelens.reporting.page import LEAST_WIDTH, Page
from tracelens.reporting.printable import cells
from tracelens.reporting.schema import Document, TermsEntry
from tracelens.reporting.values import Value, inputs_of, values_of

NOUNS: Final = {
    "rule": "Findings",
    "figure": "Figures",
    "blocker": "Blockers",
    "check": "Trust checks",
    "part": "Parts of the account",
    "kind": "Kinds of kernels",
    "word": "Words and keys of reports",
}

SHOWN_LINES: Final = 12
"""Code longer than this, or wider than the page, is for --json and the file itself."""

_BREAK: Final = re.compile(r"[.;] ")
_NUMBER: Final = re.compile(r"[\d.,]+( [a-z]+)?")


def to_json(value: Any) -> str:  # noqa: ANN401 - whatever orjson can write
    """Indented JSON of explanations, mappings or lists."""
    return written(value)


def list_text(topics: dict[str, dict[str, str]], *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """Every name with its title, by kind."""
    page = Page(max(LEAST_WIDTH, width), Ink(color), unicode)
    lines = [line for kind, names in topics.items() for line in _list(NOUNS[kind], names, page)]
    return "\n".join(lines).strip("\n") + "\n"


def rules_text(rules: Sequence[Explanation], *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """Every rule with its title, when it fires, and its thresholds."""
    page = Page(max(LEAST_WIDTH, width), Ink(color), unicode)
    lines = [*page.heading(NOUNS["rule"]), *(line for rule in rules for line in _rule(rule, page))]
    return "\n".join(lines).strip("\n") + "\n"


def to_text(explanations: Sequence[Explanation], *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """What it is, how it is computed, and every constant with its source."""
    page = Page(max(LEAST_WIDTH, width), Ink(color), unicode)
    several = len(explanations) > 1
    lines = [line for explanation in explanations for line in _explanation(explanation, page, several=several)]
    return "\n".join(lines).strip("\n") + "\n"


def values_json(name: str, document: Document, explanations: Sequence[Explanation]) -> str:
    """The same as `values_text`, with the explanations."""
    return to_json(
        {"values": values_of(document, name), "inputs": _inputs(document, explanations), "explanations": explanations}
    )


def values_text(
    name: str,
    document: Document,
    explanations: Sequence[Explanation],
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """What the name stands for in a report, and the report's numbers that it is made from."""
    page = Page(max(LEAST_WIDTH, width), Ink(color), unicode)
    of, terms = document["run"] or document["trace"], list(_terms(document, name, page))
    found = [value for value in values_of(document, name) if not (terms and ".terms." in value.path)]
    lines = [*page.heading(f"{name} in {of['path']}"), *_values(found, page)]
    inputs = [value for value in _inputs(document, explanations) if value not in found]
    if not (found or inputs):
        lines.extend(page.text("The report shows no value of that name.", "  "))
    if terms or inputs:
        lines.extend([*page.heading("Made from"), *terms, *_values(inputs, page)])
    return "\n".join(lines).strip("\n") + "\n"


def _terms(document: Document, name: str, page: Page) -> Iterator[str]:
    """How the predicted time of a form, or after the repairs, follows from this trace: the formula, what decides
    it, each term in words."""
    step_ms, terms = _predicted(document, name)
    if terms is None:
        return
    yield from page.text(f"{units.milliseconds(step_ms)} ms (predicted) = {terms['formula']}", "      ", "  ")
    yield from page.text(DECIDED[terms["decided_by"]], "  ")
    for term, value in terms["values"].items():
        shown = Value(f"forms.{name}.terms.values.{term}", value).shown
        yield from page.text(f"{term}: {shown}. {TERMS[term]}", "      ", "  ")


def _predicted(document: Document, name: str) -> tuple[float, TermsEntry | None]:
    """A predicted time in ms and what it is made of; no terms where the name is of none."""
    form, after = document["forms"].get(name), document["recommendation"]["after_fix"]
    if form is not None:
        return (form["predicted"] or form)["step_ms"] or 0.0, form["terms"]
    return (after["step_ms"], after["terms"]) if name == "after_fix" and after else (0.0, None)


def _inputs(document: Document, explanations: Sequence[Explanation]) -> list[Value]:
    return inputs_of(document, [pattern for explanation in explanations for pattern in explanation.inputs])


def _values(values: Sequence[Value], page: Page) -> Iterator[str]:
    for value in values:
        yield from page.text(f"{value.path}: {value.shown}", "      ", "  ")


def _rule(rule: Explanation, page: Page) -> Iterator[str]:
    yield from page.text(f"{rule.id}: {rule.title}", "      ", "  ", "bold")
    fires = _BREAK.split(" ".join(rule.computed_by[0].meaning.split()), maxsplit=1)[0].rstrip(".")
    limits = ", ".join(f"{limit.name}={limit.value}" for limit in rule.constants if _NUMBER.fullmatch(limit.value))
    yield from page.text(f"{fires}{f' ({limits})' if limits else ''}.", "      ")


def _list(noun: str, names: dict[str, str], page: Page) -> Iterator[str]:
    yield from page.heading(noun)
    _, *rows = page.table([Column(""), Column("", spare=1)], [[name, title] for name, title in names.items()])
    yield from rows


def _explanation(explanation: Explanation, page: Page, *, several: bool) -> Iterator[str]:
    """One meaning of a name; of several, each says what it is."""
    yield ""
    what = f" ({explanation.kind})" if several else ""
    yield from page.text(f"{explanation.id}{what}: {explanation.title}", "  ", "", "bold")
    for paragraph in explanation.text.split("\n\n"):
        yield from page.text(" ".join(paragraph.split()), "  ")
    if explanation.constants:
        yield from page.heading("Constants")
    for constant in explanation.constants:
        yield from _constant(constant, page)
    if explanation.computed_by:
        yield from page.heading("Computed by")
    for step in explanation.computed_by:
        yield from _function(step, page)
    if explanation.learn_more:
        yield from ("", f"Learn more: {explanation.learn_more}")


def _constant(constant: Constant, page: Page) -> Iterator[str]:
    yield from page.text(f"{constant.name} = {constant.value}", "      ", "  ", "bold")
    yield from page.text(constant.meaning, "      ", "      ")


def _function(step: Function, page: Page) -> Iterator[str]:
    """Where it is, what it says of itself, and its code, which is the formula, unless that is long."""
    yield "  " + page.ink(f"{step.name}, {step.file}:{step.line}", "bold")
    yield from page.text(" ".join(step.meaning.split()), "    ")
    lines = [f"    {line}".rstrip() for line in page.code(step.code)]
    if len(lines) <= SHOWN_LINES and max(map(cells, lines), default=0) <= page.width:
        yield from (page.ink(line, "dim") for line in lines)
