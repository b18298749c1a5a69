"""The shape of the code: sizes that keep it readable, and layers that load only what they need."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for package in ("tracelens", "capture") for path in (ROOT / package).rglob("*.py"))
FILE_LINES = 400
FUNCTION_LINES = 40
USUAL_FUNCTION_LINES = 35


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length in lines, docstring left out, of each function in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) is not None else None
            described = docstring.end_lineno - docstring.lineno + 1 if docstring and docstring.end_lineno else 0
            yield (
                f"{path.relative_to(ROOT)}:{node.lineno} {node.name}",
                (node.end_lineno or 0) - node.lineno + 1 - described,
            )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_idea(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= FILE_LINES
    assert ast.get_docstring(ast.parse(source)) is not None or not source.strip()


def test_functions_stay_short() -> None:
    lengths = [found for path in SOURCES for found in functions(path)]
    assert [found for found in lengths if found[1] > FUNCTION_LINES] == []
    usual = sum(length <= USUAL_FUNCTION_LINES for _, length in lengths)
    assert usual >= 0.9 * len(lengths)
