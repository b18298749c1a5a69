"""The source files of the script's own folder that it imports, and which of them has a named function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from capture.script import Script, ScriptError, functions, parse


def find_function(script: Script, name: str) -> tuple[str, Path | None]:
    """Return a function's qualified name in its file, and the file unless it is the script itself.

    Functions of imported files are found by their qualified name, or with the module's name before it
    (`training.train_step`). ScriptError, in one line, where none or several are meant.
    """
    wanted = name.replace(".<locals>", "")
    known = _functions(script.path)
    if wanted in known:
        return wanted, None
    found: dict[str, tuple[str, Path]] = {}
    for module, file in imported_files(script).items():
        for function in _functions(file):
            if wanted in {function, f"{module}.{function}"}:
                found[f"{module}.{function}"] = function, file
    if not found:
        there = ", ".join(sorted(known)) or "none"
        raise ScriptError(f"no function {name} in {script.path.name} or what it imports beside it; it has {there}")
    if len(found) > 1:
        raise ScriptError(f"{name} is in several files; name one of {', '.join(sorted(found))}")
    return next(iter(found.values()))


def imported_files(script: Script) -> dict[str, Path]:
    """Return the files under the script's folder that it imports, directly or not, by their modules' names."""
    root, package = Path(script.search_path), script.spec.parent if script.spec else None
    found: dict[str, Path] = {}
    waiting = [(package or "", script.path)]
    while waiting:
        package, path = waiting.pop()
        for name in _imports(_tree(path), package):
            file = _file(root, name)
            if file is not None and name not in found and file != script.path.resolve():
                found[name] = file
                waiting.append((name if file.stem == "__init__" else name.rpartition(".")[0], file))
    return found


def _functions(path: Path) -> dict[str, ast.FunctionDef]:
    return functions(_tree(path))


def _tree(path: Path) -> ast.Module:
    """Parse a file; one that Python will refuse has nothing in it, and the script's run says why."""
    try:
        return parse(path)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the names that may be modules in all import statements of a file of that package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], node.module or ""] if node.level else [])
            module = (base or node.module or "").strip(".")
            yield module
            yield from (f"{module}.{alias.name}".strip(".") for alias in node.names)


def _file(root: Path, name: str) -> Path | None:
    """Return the source file of a module under a folder, if there is one."""
    base = root.joinpath(*name.split("."))
    choices = (base.with_name(f"{base.name}.py"), base / "__init__.py") if name else ()
    return next((path.resolve() for path in choices if path.is_file()), None)
