"""Runs scripts through the command, in processes of their own, as a user would."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
CAPTURE = "import sys; from capture.cli import main; sys.exit(main(sys.argv[1:]))"


@dataclass(frozen=True)
class Captured:
    """One finished command and the run directory it left."""

    code: int
    stdout: str
    stderr: str
    path: Path

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.path / "run.json").read_text())

    def form(self, name: str) -> dict[str, Any]:
        return self.manifest["forms"][name]

    def trace(self, form: str) -> dict[str, Any]:
        with gzip.open(self.path / self.form(form)["trace"]) as file:
            return json.loads(file.read())


class Workshop:
    """A folder of scripts, and the command run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "run"

    def write(self, source: str, name: str = "script.py") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    def python(self, *words: str) -> str:
        """Run plain Python in the folder; return its standard output."""
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start the command; every torch process on one thread, with a compiler cache of its own."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(PROJECT),
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of processes that import torch again
            **variables,
        }
        return subprocess.Popen(
            [sys.executable, "-P", "-c", CAPTURE, "--output", str(self.path), *words],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def capture(self, *words: str, stdin: str = "") -> Captured:
        process = self.start(*words)
        stdout, stderr = process.communicate(stdin, timeout=250)
        return Captured(process.returncode, stdout, stderr, self.path)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture(scope="module")
def shared_workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("shared"))
