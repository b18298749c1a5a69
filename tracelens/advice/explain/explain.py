"""Where a figure, a finding, a blocker, a check or a part of the account comes from: formula, constants, source."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from tracelens.advice.explain import sources
from tracelens.advice.explain.figures import FIGURES
from tracelens.advice.explain.glossary import MADE_FROM, groups_of, words
from tracelens.advice.explain.sources import Constant, Function
from tracelens.errors import UsageError

if TYPE_CHECKING:
    from tracelens.advice.rules import Rule

SHOWN: Final = 80
"""Characters of a name that an error repeats."""
BLOCKERS: Final = "advice.blockers.blockers"
PREVENTS: Final = {
    "VETOES": "It makes the capture of a whole step impossible.",
    "UNCOMPILABLE": "It makes torch.compile of a whole step raise, and does not prevent a capture.",
}
"""What a blocker means, by the set of blockers that holds it."""
HARMLESS: Final = "It does not prevent a capture; it costs time, or needs care."
TRUST: Final = "analysis.trust"
MEASURES: Final = ("recording", "damage")
"""Modules of the analysis whose functions the trust checks measure by."""
KINDS: Final = ("rule", "figure", "blocker", "check", "part", "kind", "word")


@dataclass(frozen=True, slots=True)
class Explanation:
    """All there is to say of one name."""

    id: str
    kind: str
    """One of KINDS."""
    title: str
    text: str
    computed_by: tuple[Function, ...] = ()
    constants: tuple[Constant, ...] = ()
    """Thresholds and calibrated numbers that decide it, each with its source."""
    learn_more: str = ""
    inputs: tuple[str, ...] = ()
    """Paths in the report document of the numbers that a figure is made from, "*" for any key."""


def explain(name: str) -> tuple[Explanation, ...]:
    """Everything of that name, or of the key at the end of a path in the document; UsageError, with what comes close,
    where there is nothing."""
    known = topics()
    found = _of(name, known) or _of(_last(name, known), known)
    if not found:
        every = [id for ids in known.values() for id in ids]
        close = difflib.get_close_matches(name, every, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        shown = name if len(name) <= SHOWN else f"{name[:SHOWN]}..."
        raise UsageError(f"nothing is named {shown!r}{hint} (tracelens explain lists all)")
    return found


def _of(name: str, known: Mapping[str, Mapping[str, str]]) -> tuple[Explanation, ...]:
    found = tuple(_EXPLAIN[kind](name) for kind in KINDS if name in known[kind])
    return found or tuple(_part(part) for part in known["part"] if part.partition(".")[2] == name)


def _last(name: str, known: Mapping[str, Mapping[str, str]]) -> str:
    """The key that a path in the document ends with, as "recommendation.confidence"; "" of what is no path."""
    first, _, last = name.partition(".")[0], *name.rpartition(".")[1:]
    return last if any(first in names for names in known.values()) else ""


def topics() -> dict[str, dict[str, str]]:
    """Title of every name that can be explained, by kind."""
    rules = {rule.id: rule.title for rule in _rules()}
    figures = {figure.id: figure.title for figure in FIGURES}
    found = {"rule": rules, "figure": figures, "blocker": {**_blockers()}, "check": _checks(), "part": _parts()}
    return {**found, "kind": _kinds(), "word": words()}


def _rules() -> tuple[Rule, ...]:
    return cast("tuple[Rule, ...]", import_module("tracelens.advice.rules").RULES)


def _rule(id: str) -> Explanation:
    rule = next(rule for rule in _rules() if rule.id == id)
    module = f"advice.rules.{id}"
    check = sources.function(f"{module}:check")
    told = sources.constants(module).values()
    limits = tuple(constant for constant in told if constant.meaning)
    return Explanation(id, "rule", rule.title, rule.why, (check,), limits, rule.learn_more)


def _figure(id: str) -> Explanation:
    figure = next(figure for figure in FIGURES if figure.id == id)
    steps = tuple(sources.function(place) if ":" in place else sources.whole(place) for place in figure.computed_by)
    told = sources.meaning(steps[0].module)
    return Explanation(id, "figure", figure.title, told, steps, _constants(steps), inputs=figure.inputs)


@lru_cache
def _blockers() -> Mapping[str, str]:
    """Ids that blockers.py observes, told by the first words of what observes them."""
    found = dict[str, str]()
    for node in ast.walk(sources.tree(BLOCKERS)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
            found |= dict.fromkeys(_ids(node), _sentence(ast.get_docstring(node) or node.name))
    return found


def _sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].removesuffix(".") + "."


def _ids(node: ast.FunctionDef) -> Iterator[str]:
    """Ids that a function gives to blockers: the text argument of Blocker and _observe, or of what is passed on."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("Blocker", "_observe"):
            yield from (a.value for a in part.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str))
        elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Tuple):
            first = part.value.elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def _blocker(id: str) -> Explanation:
    steps = sources.functions_saying(BLOCKERS, id)
    module = import_module(f"tracelens.{BLOCKERS}")
    says = next((text for name, text in PREVENTS.items() if id in vars(module)[name]), HARMLESS)
    text = f"{says} Counted in every step: proof where every counted step has it, else worth a look only."
    return Explanation(id, "blocker", _blockers()[id], text, steps, _constants(steps))


def _checks() -> dict[str, str]:
    """What each check of the trust passes with."""
    return {id: _shown(call, 4) for id, call in _check_calls().items()}


@lru_cache
def _check_calls() -> Mapping[str, ast.Call]:
    """The call that makes each check, by its id: Rule(id, measure, threshold, unusable, passed, failed, ...)."""
    calls = (node for node in ast.walk(sources.tree(TRUST)) if isinstance(node, ast.Call))
    rules = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Rule")
    return {str(ast.literal_eval(call.args[0])): call for call in rules if len(call.args) >= 6}


def _shown(call: ast.Call, argument: int) -> str:
    """A message of a check with N for its numbers."""
    text, nouns = call.args[argument], [word.value for word in call.keywords if word.arg == "noun"]
    noun = ast.literal_eval(nouns[0]) if nouns else ""
    shown = str(ast.literal_eval(text)).replace("{share}", "N %").replace("{count}", f"N {noun}s")
    return re.sub(r"\{\w+(:[^}]*)?\}", "N", shown)


def _check(id: str) -> Explanation:
    call = _check_calls()[id]
    bound = "at least" if any(word.arg == "at_least" for word in call.keywords) else "at most"
    fatal = ast.unparse(call.args[3])
    unusable = "" if fatal == "None" else f" Beyond {fatal} the trace is unusable."
    passes = f"Passes where the value is {bound} {ast.unparse(call.args[2])}.{unusable}"
    steps = tuple(dict.fromkeys(_measures(call.args[1])))
    text = f"{passes} Else: {_shown(call, 5)}."
    return Explanation(id, "check", _checks()[id], text, steps, _constants(steps))


def _measures(measure: ast.expr) -> Iterator[Function]:
    """Functions that a check's measure calls: of the modules with measures, or of the checks' own."""
    for part in ast.walk(measure):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in MEASURES:
            yield sources.function(f"analysis.{part.value.id}:{part.attr}")
        elif isinstance(part, ast.Name) and part.id.startswith("_"):
            yield sources.function(f"{TRUST}:{part.id}")


def _parts() -> dict[str, str]:
    told = sources.members("analysis.parts", "Part")
    return {name.lower().replace("_", ".", 1): text for name, text in told.items()}


def _part(id: str) -> Explanation:
    member = id.upper().replace(".", "_", 1)
    told = [sources.naming(f"analysis.{module}", "Part", member) for module in ("timeline", "marks", "host_activity")]
    steps = tuple(step for found in told for step in found)
    steps = (sources.function("analysis.refill:spent_credit"), *steps) if id == "sync.refill" else steps
    steps = steps or (sources.function("analysis.timeline:_label"),)
    return Explanation(id, "part", _parts()[id], sources.meaning("analysis.timeline"), steps, _constants(steps))


def _kinds() -> dict[str, str]:
    """What kernels do, by the word of the tables."""
    told = sources.members("analysis.kinds", "Kind")
    return {name.lower(): text or f"A kernel for {name.lower()}." for name, text in told.items()}


def _kind(id: str) -> Explanation:
    steps = (sources.function("analysis.kinds:kernel_kind"),)
    return Explanation(id, "kind", _kinds()[id], sources.meaning("analysis.kinds"), steps, _constants(steps))


def _word(id: str) -> Explanation:
    parts = ", ".join(part for part in _parts() if part.startswith(f"{id}."))
    where = "; ".join(groups_of(id)) + "." + (f" Its parts: {parts}." if parts else "")
    return Explanation(id, "word", words()[id], where, inputs=MADE_FROM.get(id, ()))


def _constants(steps: tuple[Function, ...]) -> tuple[Constant, ...]:
    """Constants that any of the functions names, each once."""
    return tuple(dict.fromkeys(constant for step in steps for constant in step.constants if constant.meaning))


_EXPLAIN: Final[dict[str, Callable[[str], Explanation]]] = {
    "rule": _rule,
    "figure": _figure,
    "blocker": _blocker,
    "check": _check,
    "part": _part,
    "kind": _kind,
    "word": _word,
}
