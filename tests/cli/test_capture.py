"""`tracelens capture`: every word reaches the package that records, wherever the command runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from capture.cli import parser
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
        (["--forms", "eager,eager", "t.py"], "'eager,eager' names a form twice"),
        (["--timeout", "soon", "t.py"], "soon"),
        (["--timeout", "-1", "t.py"], "'-1' is not a number of seconds above 0"),
        (["--timeout", "nan", "t.py"], "'nan' is not a number of seconds above 0"),
        (["--seed", str(2**64), "t.py"], "is not a whole number from -2^63"),
        (["--measure", "9" * 5_000, "t.py"], "is not a whole number"),
        (["--forms", "eager,replay", "--dynamic", __file__], "--dynamic is for compile and both"),
        (["--forms", "both", "--compile-mode", "default", __file__], "--compile-mode is for the compile form"),
        (["-m", "nope.mod"], "no module named nope.mod that can be run (ModuleNotFoundError: No module named 'nope')"),
        (["-m", "sys"], "no module named sys"),
        (["a" * 300], "no such script"),
        (["--output", "/proc/nope", __file__], "cannot write /proc/nope"),
        (["--output", "a" * 300, __file__], "cannot write "),
        (["\x1b[31m.py"], "\\x1b[31m.py: no such script"),
    ],
)
def test_a_wrong_command_is_one_line(words: list[str], told: str, capsys: Capture) -> None:
    assert main(["capture", *words]) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert told in err
    assert len(err.splitlines()) == 1
    assert "_count" not in err
    assert "internal error" not in err
    assert err[:-1].isprintable()
    assert len(err) < 800


def test_words_behind_the_script_are_the_scripts() -> None:
    words = ["--", "--output", "x", "--m", "3", "-h", "-m", "--seed", "q"]
    for before in ([], ["--"], ["-m"], ["--seed", "3", "--output=run"]):
        options = parser().parse_args([*before, "script.py", *words])
        assert (options.script, options.arguments) == ("script.py", words)
        assert options.is_module == (before == ["-m"])


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
