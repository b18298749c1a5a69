"""`tracelens capture`: every word reaches the package that records, wherever the command runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from tracelens.__main__ import main
from tracelens.exitcodes import ExitCode

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]


def test_help_is_that_of_the_recording(capsys: Capture) -> None:
    assert main(["capture", "--help"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert out.startswith("usage: tracelens capture")
    assert "--max-graphs" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "a script is missing"),
        (["--forms", "eager"], "a script is missing"),
        (["--warmup", "x", "t.py"], "'x' is not a whole number"),
        (["--active", "0", "t.py"], "'0' is not a whole number"),
        (["--forms", "foo", "t.py"], "unknown form foo"),
        (["--timeout", "soon", "t.py"], "soon"),
    ],
)
def test_a_wrong_command_is_one_line(words: list[str], told: str, capsys: Capture) -> None:
    assert main(["capture", *words]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert told in err
    assert len(err.splitlines()) == 1
    assert "_count" not in err


def test_a_missing_script_is_a_usage_error(tmp_path: Path, capsys: Capture) -> None:
    assert main(["capture", str(tmp_path / "absent.py")]) == ExitCode.USAGE
    assert "absent.py" in capsys.readouterr().err


def test_without_torch_one_line_says_what_to_install(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "torch" else found(name))
    assert main(["capture", "script.py"]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert f"{sys.executable} -m pip install torch" in err
    assert len(err.splitlines()) == 1


def test_a_module_of_the_same_name_in_the_current_folder_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "capture.py").write_text("raise SystemExit('not this one')\n")
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv[1:])\nraise SystemExit(7)\n")
    command = [sys.executable, "-m", "tracelens", "capture", "--forms", "eager", "--output", "run"]
    words = ["script.py", "--help", "--output", "mine", "--", "-m"]
    done = subprocess.run(
        [*command, *words],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[0] == "['--help', '--output', 'mine', '--', '-m']"
    assert done.returncode == 7
    assert (tmp_path / "run" / "run.json").is_file()
