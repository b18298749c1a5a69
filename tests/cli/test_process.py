"""The command as a shell runs it: pipes, terminals and encodings."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_main import host_bound

COMMAND = [sys.executable, "-m", "tracelens"]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONUTF8": "1", "COLUMNS": "80", **environment}
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=env, check=False, timeout=60)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_bound().write(tmp_path_factory.mktemp("traces") / "eager.json.gz")


def test_a_reader_that_leaves_is_no_error(trace: Path) -> None:
    pipe = f"{sys.executable} -m tracelens report {trace} --json | head -c 10; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.endswith("0\n")
    assert done.stderr == ""


@pytest.mark.parametrize("linked", [False, True])
def test_a_report_does_not_replace_the_trace_on_standard_input(tmp_path: Path, linked: bool) -> None:
    own = host_bound().write(tmp_path / "own.json")
    target, before = tmp_path / "other.json" if linked else own, own.read_bytes()
    if linked:
        target.hardlink_to(own)
    command = [*COMMAND, "report", "-", "-o", str(target), "--force"]
    with own.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, f"tracelens: {target} is a trace; name another file for the report\n")
    assert own.read_bytes() == before


def test_a_report_of_standard_input_replaces_another_file(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    target.write_text("old", encoding="utf-8")
    command = [*COMMAND, "report", "-", "-o", str(target), "--force"]
    with trace.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, f"tracelens: wrote {target}\n")


def test_a_page_is_no_wider_than_anybody_reads(trace: Path) -> None:
    done = run("report", str(trace), COLUMNS="99999999999")
    assert done.returncode == 0
    assert 80 < max(map(len, done.stdout.splitlines())) <= 1_000


def test_ctrl_c_ends_with_130() -> None:
    process = subprocess.Popen(
        [*COMMAND, "report", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    # More than a pipe holds: once this is written, the command is reading.
    process.stdin.write(b'{"traceEvents": [' + b'{"ph": "i", "name": "a", "ts": 1, "pid": 1, "tid": 1},\n' * 10_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err == b"tracelens: interrupted\n"


@pytest.mark.parametrize("module", ["numpy", "tracelens.cli.report", "orjson"])
def test_ctrl_c_while_the_program_is_imported_is_one_line(tmp_path: Path, trace: Path, module: str) -> None:
    interrupting = (
        "import builtins, os, signal\n"
        "usual = builtins.__import__\n"
        "def interrupted(name, *rest, **more):\n"
        f"    if name == {module!r}:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return usual(name, *rest, **more)\n"
        "builtins.__import__ = interrupted\n"
    )
    (tmp_path / "sitecustomize.py").write_text(interrupting)
    done = run("report", str(trace), PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path[1:]]))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tracelens: interrupted\n")


@pytest.mark.parametrize("package", ["textual", "numpy"])
def test_a_package_that_is_missing_is_named_in_one_line(tmp_path: Path, trace: Path, package: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.modules[{package!r}] = None\n")
    path = os.pathsep.join([str(tmp_path), *sys.path[1:]])
    for _ in range(3):
        main, other = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": path}
        process = subprocess.Popen([*COMMAND, str(trace)], stdin=other, stdout=other, stderr=other, env=environment)
        os.close(other)
        told = b"".join(iter(lambda: _read(main), b""))  # noqa: B023 - read before the next turn
        os.close(main)
        assert process.wait(timeout=60) == 3
        assert told.startswith(f"tracelens: the package {package} is missing; pip install".encode())
        assert told.count(b"\n") == 1


def test_a_full_disk_is_one_line(trace: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "report", str(trace)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 2
    assert done.stderr == "tracelens: cannot write to standard output: No space left on device\n"


def test_a_narrow_encoding_gets_ascii(trace: Path) -> None:
    done = run("report", str(trace), PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "#" in done.stdout


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({"TERM": "xterm-256color"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
)
def test_a_terminal_gets_colours_unless_it_declines(trace: Path, environment: dict[str, str], colored: bool) -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    main, other = pty.openpty()
    done = subprocess.Popen([*COMMAND, "report", str(trace)], stdout=other, stderr=other, env={**env, **environment})
    os.close(other)
    text = b""
    while chunk := _read(main):
        text += chunk
    assert done.wait(timeout=60) == 0
    os.close(main)
    assert (b"\x1b[1m" in text) == colored


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("report {trace} 2>&-", 0, ""),
        ("report {trace} -o {trace}.md 2>&- >&-", 0, ""),
        ("report {trace} 2>&- >&-", 2, ""),
        ("report {trace} >&-", 2, "standard output is closed"),
        ("--help >&-", 2, "standard output is closed"),
        ("report --help >/dev/full", 2, "No space left on device"),
        ("--version >/dev/full", 2, "No space left on device"),
    ],
)
def test_streams_that_are_closed_or_full_lose_nothing_in_silence(trace: Path, words: str, code: int, said: str) -> None:
    shell = f"{sys.executable} -m tracelens {words.format(trace=trace)}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_a_closed_standard_input_is_refused_in_one_line() -> None:
    ran = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m tracelens report - <&-"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)
    assert "standard input is closed" in ran.stderr


@pytest.mark.parametrize(("words", "code"), [(("absent.json",), 3), (("--step", "absent"), 2), (("--frce",), 2)])
def test_a_standard_error_that_takes_nothing_leaves_the_exit_code(
    trace: Path, words: tuple[str, ...], code: int
) -> None:
    asked = words if code == 3 else (str(trace), *words)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "report", *asked], stdout=subprocess.PIPE, stderr=full, timeout=60)
    assert (done.returncode, done.stdout) == (code, b"")
