"""Runs a script as `python script.py` would: its own __main__, argv, sys.path and traceback."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from capture.imports import ImportMarked
from capture.job import Target

DECORATOR = "__tracelens_region__"
_OWN = str(Path(__file__).resolve().parent)


class ScriptError(Exception):
    """The script cannot be run as asked; one line."""


@dataclass(frozen=True)
class Script:
    """A script or module, found but not yet run."""

    path: Path
    argv0: str
    spec: ModuleSpec | None
    search_path: str

    @classmethod
    def find(cls, name: str, is_module: bool) -> Script:
        """Find a script by path, or with `is_module` by its import name, as `python` and `python -m` do."""
        if is_module:
            return cls._find_module(name)
        path = Path(name)
        if not _is_file(path):
            raise ScriptError(f"{name}: no such script")
        return cls(path.absolute(), name, None, str(path.resolve().parent))

    @classmethod
    def _find_module(cls, name: str) -> Script:
        here = str(Path.cwd())
        sys.path.insert(0, here)
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(f"{name}.__main__")
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise ScriptError(f"no module named {name} that can be run ({type(error).__name__}: {error})") from error
        finally:
            sys.path.remove(here)
        if spec is None or spec.origin is None or not _is_file(Path(spec.origin)):
            raise ScriptError(f"no module named {name} that can be run")
        return cls(Path(spec.origin), spec.origin, spec, here)

    def enter(self, arguments: tuple[str, ...]) -> ModuleType:
        """Make a fresh __main__ for the script, and set argv and sys.path as Python would."""
        module = ModuleType("__main__")
        loader = self.spec.loader if self.spec else SourceFileLoader("__main__", str(self.path))
        vars(module).update(__file__=str(self.path), __builtins__=builtins, __spec__=self.spec, __loader__=loader)
        if self.spec is not None:
            vars(module)["__package__"] = self.spec.parent
        sys.modules["__main__"] = module
        sys.argv = [self.argv0, *arguments]
        if not sys.flags.safe_path:
            sys.path.insert(0, self.search_path)
        return module

    def run(self, arguments: tuple[str, ...], target: Target, decorate: Callable[..., Any]) -> None:
        """Execute the source as __main__; the target's function, if it names one, is passed through `decorate`."""
        module, function = self.enter(arguments), target.function
        if function is not None and target.file is not None:
            file = Path(target.file)
            ImportMarked(file, lambda: code_of(file, function), {DECORATOR: decorate})
            exec(code_of(self.path, None), vars(module))
        else:
            vars(module).update({DECORATOR: decorate} if function else {})
            exec(code_of(self.path, function), vars(module))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # a name too long for a file


def parse(path: Path) -> ast.Module:
    """Parse a source file; its own encoding line counts."""
    return ast.parse(path.read_bytes(), str(path))


def code_of(path: Path, function: str | None) -> CodeType:
    """Compile a source file, with the region's decorator on the function of that qualified name."""
    tree = parse(path)
    if function is not None:
        mark(tree, function)
    return compile(tree, str(path), "exec", dont_inherit=True)


def functions(tree: ast.AST, prefix: str = "") -> dict[str, ast.FunctionDef]:
    """Return a script's functions by qualified name, with and without `<locals>`."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            inner = f"{prefix}{node.name}."
        if isinstance(node, ast.FunctionDef):
            found[inner[:-1]] = node
        found.update(functions(node, inner))
    return found


def mark(tree: ast.Module, name: str) -> None:
    """Put the region's decorator on the function of that qualified name, above its own decorators."""
    found = functions(tree)
    node = found.get(name.replace(".<locals>", ""))
    if node is None:
        raise ScriptError(f"no function {name} in the script; it has {', '.join(sorted(found)) or 'none'}")
    above = [position + 1 for position, decorator in enumerate(node.decorator_list) if _makes_method(decorator)]
    line = node.decorator_list[0] if node.decorator_list else node
    decorator = ast.copy_location(ast.Name(DECORATOR, ast.Load()), line)
    node.decorator_list.insert(max(above, default=0), decorator)


def _makes_method(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in {"staticmethod", "classmethod"}


def own_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without this package's frames, as the plain script would have shown it."""
    if traceback is None:
        return None
    rest = own_traceback(traceback.tb_next)
    if traceback.tb_frame.f_code.co_filename.startswith(_OWN):
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
