"""A function named with --function: found in the script or what it imports, and made the region there."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from capture.imports import AfterImport, ImportMarked
from capture.own_code import find_function
from capture.script import DECORATOR, Script, ScriptError, code_of, functions, mark


def test_functions_by_qualified_name() -> None:
    tree = ast.parse("def a():\n  def b(): pass\nclass C:\n  @staticmethod\n  def d(): pass\nif 1:\n  def e(): pass\n")
    assert set(functions(tree)) == {"a", "a.b", "C.d", "e"}
    with pytest.raises(ScriptError, match="no function x"):
        mark(tree, "x")


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_functions_of_imported_files_are_found(tmp_path: Path) -> None:
    write(
        tmp_path,
        script="import steps, os\ndef main():\n  from package.engine import go\n",
        steps="def train(): pass\n",
        package__engine="from . import deep\nfrom .deep import x\ndef go(): pass\ndef train(): pass\n",
        package__deep="import broken\nclass T:\n  def step(self): pass\n",
        broken="def broken(:\n",
        unused="def main2(): pass\n",
    )
    script = Script.find(str(tmp_path / "script.py"), False)
    assert find_function(script, "main") == ("main", None)
    assert find_function(script, "T.step") == ("T.step", tmp_path / "package/deep.py")
    assert find_function(script, "package.engine.train") == ("train", tmp_path / "package/engine.py")
    with pytest.raises(ScriptError, match=r"name one of package\.engine\.train, steps\.train$"):
        find_function(script, "train")
    with pytest.raises(ScriptError, match=r"it has main$"):
        find_function(script, "main2")


def test_only_the_named_file_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, one__same="def f(x): return x\n", two__same="def f(x): return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "two/same.py"
    watch = ImportMarked(file, lambda: code_of(file, "f"), {DECORATOR: lambda function: lambda x: -function(x)})
    try:
        assert importlib.import_module("one.same").f(1) == 1
        assert importlib.import_module("two.same").f(1) == -1
    finally:
        watch.stop()


def test_an_import_is_announced_once_and_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, awaited="x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[int] = []
    AfterImport("awaited", lambda: seen.append(sys.modules["awaited"].x))
    assert importlib.util.find_spec("awaited") is not None
    assert seen == []
    module = importlib.import_module("awaited")
    importlib.reload(module)
    assert seen == [1]
    assert isinstance(module.__loader__, SourceFileLoader)
    AfterImport("awaited", lambda: seen.append(2))
    assert seen == [1, 2]


def test_marked_function_is_decorated_above_its_own_decorators_and_below_staticmethod() -> None:
    source = "class C:\n  @staticmethod\n  @half\n  def d(x): return x\nresult = C.d(8)\n"
    tree = ast.parse(source)
    mark(tree, "C.d")
    seen: list[Any] = []

    def region(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: seen.append(args) or function(*args)

    space: dict[str, Any] = {"__tracelens_region__": region, "half": lambda function: lambda x: function(x) / 2}
    exec(compile(tree, "script.py", "exec"), space)
    assert (space["result"], seen) == (4.0, [(8,)])
