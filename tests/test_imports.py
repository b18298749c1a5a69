"""What each entry loads: help is instant, analysis needs no app and no torch, a report no pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.build import TraceBuilder

HEAVY = {"numpy", "pandas", "orjson", "textual", "rich", "torch"}
APP = {"textual", "rich", "torch"}


def loaded_by(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after the code."""
    tell = "\nimport sys\nprint(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + tell], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.splitlines()[-1].split())


def loaded_by_command(*words: str) -> set[str]:
    return loaded_by(f"from tracelens.__main__ import main\nmain({list(words)!r})")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["report", "--help"], ["repot"]], ids=" ".join)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    assert loaded_by_command(*words) & HEAVY == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import tracelens; tracelens.__version__, dir(tracelens)") & HEAVY == set()


def test_an_interruption_is_told_of_from_the_first_import_on() -> None:
    code = "import sys; before = set(sys.modules); import tracelens.__main__; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert {"tracelens", "tracelens.__main__"} <= set(done.stdout.split())
    assert not {"typing", "enum", "re", "collections.abc", "tracelens.cli"} & set(done.stdout.split())


@pytest.mark.parametrize(
    "words", [["rules"], ["explain"], ["explain", "replay"], ["explain", "queue_full"]], ids=" ".join
)
def test_explaining_loads_no_tables(words: list[str]) -> None:
    assert loaded_by_command(*words) & (HEAVY - {"numpy", "orjson"}) == set()


@pytest.mark.parametrize("words", [[], ["--json"], ["--table", "gaps"]], ids=str)
def test_report_loads_neither_the_app_nor_pandas_nor_torch(tmp_path: Path, words: list[str]) -> None:
    path = TraceBuilder().launch("gemm", start=0).write(tmp_path / "trace.json")
    loaded = loaded_by_command("report", str(path), *words)
    assert "numpy" in loaded
    assert loaded & {"pandas", *APP} == set()


def test_the_app_loads_no_pandas() -> None:
    assert "pandas" not in loaded_by("import tracelens.tui.app")


def test_the_first_screen_needs_no_other_view() -> None:
    code = "import sys, tracelens.tui.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    others = {f"tracelens.tui.views.{view}" for view in ("advice", "dialog", "forms", "table", "timeline")}
    assert not others & set(done.stdout.split())


def test_every_layer_below_the_app_does_without_it() -> None:
    assert loaded_by("import tracelens.reporting.report, tracelens.reporting.details, tracelens.api") & APP == set()


def test_loading_does_without_pandas() -> None:
    assert loaded_by("import tracelens.loading") & {"pandas", *APP} == set()


def test_what_imports_the_rules_may_be_imported_while_another_thread_imports_them() -> None:
    """As in the app, whose views and whose judging begin side by side."""
    code = """
import sys, threading, time

class Slow:
    def find_spec(self, name, path, target=None):
        if name == "tracelens.advice.rules.allocator_churn":
            begun.set()
            time.sleep(1)

import tracelens.advice.choice.snippet, tracelens.advice.forms.forms  # most of what is needed
begun = threading.Event()
sys.meta_path.insert(0, Slow())
rules = threading.Thread(target=__import__, args=("tracelens.advice.rules",))
rules.start()
begun.wait()
import tracelens.advice.choice.job
rules.join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_advice_is_a_function_whichever_module_of_it_was_imported_first() -> None:
    code = """
import pkgutil
import tracelens.advice as advice

for found in pkgutil.walk_packages(advice.__path__, "tracelens.advice."):
    __import__(found.name)
assert callable(advice.advise)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
