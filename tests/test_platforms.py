"""Analysis needs nothing that only POSIX has: it runs where neither its modules nor its calls and signals are there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.build import TraceBuilder

ELSEWHERE = """
import os, signal, sys
for name in ("fcntl", "termios", "tty", "pty", "resource", "pwd", "grp", "syslog", "curses", "readline"):
    sys.modules[name] = None
CALLS = "fork forkpty killpg setsid getuid geteuid mkfifo wait4 sched_getaffinity pread getpgid posix_spawn openpty"
SIGNALS = "SIGHUP SIGKILL SIGALRM SIGUSR1 SIGPIPE SIGCONT SIGTSTP SIGWINCH setitimer alarm"
for place, names in ((os, CALLS), (signal, SIGNALS)):
    for name in names.split():
        delattr(place, name)
"""


def runs(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", ELSEWHERE + code], capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("words", [["report"], ["report", "--json"], ["report", "--table", "gaps"], ["show"]], ids=str)
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_is_analysed(words: list[str], name: str, tmp_path: Path) -> None:
    path = TraceBuilder().step(0, 0, 90).op("aten::mm", 1, 20).launch("gemm", 2, at=30).write(tmp_path / name)
    command = [words[0], str(path), *words[1:], *(["k-1"] if words == ["show"] else [])]
    done = runs(f"from tracelens.__main__ import main; sys.exit(main({command!r}))")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gemm" in done.stdout or "gaps" in str(words)


def test_every_module_below_the_app_can_be_imported() -> None:
    root = Path(__file__).parent.parent
    files = [path.relative_to(root) for path in sorted((root / "tracelens").rglob("*.py")) if "tui" not in path.parts]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    wanted = [name for name in names if not name.endswith("__main__")]
    done = runs(f"import importlib\nfor name in {wanted!r}: importlib.import_module(name)")
    assert (done.returncode, done.stderr) == (0, "")
