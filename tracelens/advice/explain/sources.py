"""What the product's own source says of its functions and constants, so that explanations repeat nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.abc import InspectLoader
from importlib.util import find_spec
from textwrap import dedent
from typing import Final

PACKAGE: Final = "tracelens"
_CONSTANT: Final = re.compile(r"^_?[A-Z][A-Z0-9_]+$")
_UNITS: Final = {"NS": "ns", "MS": "ms", "S": "s"}
"""By the last word of a constant's name."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A named number, pattern or text."""

    name: str
    value: str
    """As written, with units of time spelled out; cut to what a line holds."""
    meaning: str
    """Its docstring, which ends with the source in brackets."""
    module: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function that computes something."""

    name: str
    module: str
    file: str
    """Its module's file, as a path that begins with the package."""
    line: int
    meaning: str
    code: str
    """Its body, as written."""
    constants: tuple[Constant, ...]
    """Those that its body names."""


@lru_cache
def source(module: str) -> str:
    """Text of a module of this package, by its name within it ("advice.forms.replay")."""
    spec = find_spec(f"{PACKAGE}.{module}")
    loader = spec.loader if spec else None
    text = loader.get_source(f"{PACKAGE}.{module}") if isinstance(loader, InspectLoader) else None
    if text is None:
        raise LookupError(f"no source of {PACKAGE}.{module}")
    return text


@lru_cache
def file(module: str) -> str:
    """The file of a module of this package, below the folder that holds the package: a room's is its __init__.py."""
    spec = find_spec(f"{PACKAGE}.{module}")
    parts = [PACKAGE, *module.split(".")]
    is_room = spec is not None and spec.submodule_search_locations is not None
    return f"{'/'.join([*parts, '__init__'] if is_room else parts)}.py"


@lru_cache
def tree(module: str) -> ast.Module:
    """Its syntax tree."""
    return ast.parse(source(module))


def meaning(module: str) -> str:
    """A module's docstring."""
    return ast.get_docstring(tree(module)) or ""


@lru_cache
def constants(module: str) -> Mapping[str, Constant]:
    """Constants that a module defines, by name. A docstring is that of the assignment right above it alone."""
    body, found = tree(module).body, dict[str, Constant]()
    for at, node in enumerate(body):
        name = _assigned(node)
        if name is not None and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            found[name] = Constant(name, _value(name, node.value), _text(body, at + 1), module)
    return found


def function(place: str) -> Function:
    """A function by "module:name" or "module:Class.name"; LookupError where there is none."""
    module, _, path = place.partition(":")
    node: ast.AST = tree(module)
    for name in path.split("."):
        node = next((child for child in _children(node) if child.name == name), ast.Pass())
    if not isinstance(node, ast.FunctionDef):
        raise LookupError(f"no function {place}")
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    code = dedent("\n".join(source(module).splitlines()[body[0].lineno - 1 : node.end_lineno]))
    used = tuple(constant for body_part in body for constant in _used(module, body_part))
    told = ast.get_docstring(node) or ""
    return Function(path, module, file(module), node.lineno, told, code, tuple(dict.fromkeys(used)))


def whole(module: str) -> Function:
    """A module as one: what it says of itself, and all constants that it names."""
    used = tuple(dict.fromkeys(_used(module, tree(module))))
    name, told = module.rpartition(".")[2], meaning(module)
    return Function(name, module, file(module), 1, told, "", used)


def functions_saying(module: str, text: str) -> tuple[Function, ...]:
    """Functions of a module whose body holds the text as a string of its own."""
    found = (node for node in tree(module).body if isinstance(node, ast.FunctionDef))
    return tuple(
        function(f"{module}:{node.name}")
        for node in found
        if any(isinstance(part, ast.Constant) and part.value == text for part in ast.walk(node))
    )


def naming(module: str, owner: str, member: str) -> tuple[Function, ...]:
    """Functions of a module whose body names a member, as Part.SYNC_WAIT."""
    found = (node for node in tree(module).body if isinstance(node, ast.FunctionDef))
    text = f"{owner}.{member}"
    return tuple(
        function(f"{module}:{node.name}")
        for node in found
        if any(isinstance(part, ast.Attribute) and ast.unparse(part) == text for part in ast.walk(node))
    )


def members(module: str, name: str) -> dict[str, str]:
    """Members of an enumeration and the docstring below each."""
    body = next(node.body for node in _children(tree(module)) if node.name == name)
    named = ((at, _assigned(node)) for at, node in enumerate(body))
    return {found: _text(body, at + 1) for at, found in named if found is not None}


def _children(node: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.FunctionDef | ast.ClassDef))


def _assigned(node: ast.stmt) -> str | None:
    """Name of the constant that a statement defines."""
    if isinstance(node, ast.AnnAssign):
        target = node.target
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    else:
        return None
    return target.id if isinstance(target, ast.Name) and _CONSTANT.match(target.id) else None


def _text(body: list[ast.stmt], at: int) -> str:
    """The bare string at a place of a body, unfolded; "" where there is none."""
    node = body[at] if at < len(body) else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


def _value(name: str, node: ast.expr) -> str:
    text = re.sub(r" \* US\b", " us", ast.unparse(node))
    unit = _UNITS.get(name.rpartition("_")[2])
    if unit and text.isdigit():
        return f"{int(text):,} {unit}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def _used(module: str, node: ast.AST) -> Iterator[Constant]:
    """Constants that a piece of code names: the module's own, and those of the calibration as C.NAME."""
    own = constants(module)
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in own:
            yield own[part.id]
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "C":
            calibrated = constants("advice.constants")
            if part.attr in calibrated:
                yield calibrated[part.attr]
