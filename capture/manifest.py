"""The run directory: one trace per form, logs, and run.json, rewritten whole after every form."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from capture.ranks import Rank
from capture.records import FORMS, SCHEMA_VERSION, FormRecord
from tracelens.version import __version__


class RunDirectoryError(Exception):
    """The run directory cannot be written; one line."""


class RunDirectory:
    """Writes a run, one rank's of several; what is there at any moment is whole."""

    def __init__(self, path: Path, command: list[str], run: str, rank: Rank | None = None) -> None:
        self.path, self._forms = path, dict[str, dict[str, Any]]()
        self._suffix = rank.suffix if rank else ""
        self._head: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "tracelens", "version": __version__},
            "run": run,
            "command": command,
            "environment": {},
            "target": {"kind": None, "name": None, "where": None},
            "complete": False,
        }

    def create(self, force: bool) -> None:
        """Make the directory; an earlier run there is replaced only if forced, other files are never touched."""
        try:
            self._make_room(force)
            self.work.mkdir(parents=True)
            self._write()
        except OSError as error:
            raise RunDirectoryError(f"cannot write {self.path}: {error.strerror}; choose another --output") from error

    def _make_room(self, force: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RunDirectoryError(f"{self.path} is a file; name a directory with --output")
        if self.path.is_dir() and any(not self._is_other_ranks(path.name) for path in self.path.iterdir()):
            if not force:
                raise RunDirectoryError(
                    f"{self.path} is not empty; choose another --output, or --force to replace a run"
                )
            if not self.manifest.exists():
                raise RunDirectoryError(f"{self.path} is not empty and holds no run; choose another --output")
            self._remove_run()

    @property
    def manifest(self) -> Path:
        """The manifest: `run.json`, of several ranks `run.rankN.json`."""
        return self.path / f"run{self._suffix}.json"

    @property
    def work(self) -> Path:
        """Folder of what is only needed while the run is under way."""
        return self.path / f".work{self._suffix}"

    def log(self, name: str) -> Path:
        """Path of a form's log."""
        return self.path / f"{name}{self._suffix}.log"

    def trace(self, name: str) -> Path:
        """Path of a form's trace."""
        return self.path / f"{name}{self._suffix}.pt.trace.json.gz"

    def describe(self, **head: Any) -> None:
        """Set the environment, the target or anything else above the forms."""
        self._head.update(head)

    def add(self, form: str, record: FormRecord, variants: list[FormRecord] | None = None) -> None:
        """Put a form's record, with all its variants where there are several, and write the manifest."""
        row = record.as_json()
        if variants:
            row["variants"] = [variant.as_json() for variant in variants]
        self._forms[form] = row
        self._write()

    def finish(self, complete: bool) -> None:
        """Write the manifest for the last time and remove what is no longer needed."""
        self._head["complete"] = complete
        self._write()
        self.remove_work()

    def remove_work(self) -> None:
        """Remove what is only needed while the run is under way."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _write(self) -> None:
        partial = self.manifest.with_name(f"{self.manifest.name}.partial")
        forms = {form: self._forms[form] for form in FORMS if form in self._forms}
        with partial.open("w") as file:
            json.dump({**self._head, "forms": forms}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.manifest)

    def _is_other_ranks(self, name: str) -> bool:
        """Whether a file is of another rank, which may have begun before this one."""
        words = name.split(".")
        return bool(self._suffix) and self._suffix[1:] not in words and any(word.startswith("rank") for word in words)

    def _remove_run(self) -> None:
        for pattern in (".pt.trace.json.gz", ".pt.trace.json.gz.partial", ".log"):
            for file in self.path.glob(f"*{self._suffix}{pattern}"):
                file.unlink()
        self.manifest.unlink()
        shutil.rmtree(self.work, ignore_errors=True)
