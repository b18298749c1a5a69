"""A run directory: its manifest, and the traces that its forms left there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import orjson

from tracelens.errors import UnreadableError

MANIFESTS: Final = ("run.json", "run.rank*.json")
"""The manifest of a run, or one of each rank where there are several."""
SCHEMA_VERSION: Final = 1
FORMS: Final = ("eager", "compile", "replay", "both")
Record: TypeAlias = Mapping[str, Any]
"""A form object of the manifest, as it was written."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a recording of several forms left; a killed one has what it finished."""

    folder: Path
    manifest: Record
    forms: Mapping[str, Record]
    """The forms that were tried, simplest first."""
    traces: Mapping[str, Path]
    """The traces that are there and not known to be unusable, by form, simplest first."""
    notes: tuple[str, ...] = ()
    """What a reader must know of its traces, a sentence each without its full stop."""

    @property
    def complete(self) -> bool:
        """Whether the recording came to its end."""
        return self.manifest.get("complete") is True

    def trace(self, form: str) -> Path | None:
        """The trace of a form, if it left one."""
        return self.traces.get(form)

    def first_trace(self) -> Path | None:
        """The trace to open: the simplest form's."""
        return next(iter(self.traces.values()), None)

    def without(self, form: str, why: str) -> Run:
        """The run without the trace of a form, and a note of why that cannot be used."""
        others = {name: path for name, path in self.traces.items() if name != form}
        return replace(self, traces=others, notes=(*self.notes, f"{self.traces[form].name} is left out: {why}"))

    def doubting(self, form: str) -> Run:
        """The run with a note that the trace of a form may be of something else."""
        return replace(self, notes=(*self.notes, f"{self.traces[form].name} does not say that it is of this run"))


def read_run(folder: Path) -> Run | None:
    """The run in a directory, None where there is none; UnreadableError, in one line, for a damaged manifest.

    Of several ranks it is the first. An object without forms is a file of another program."""
    path = folder
    try:
        found = _manifest(folder)
        if found is None:
            return None
        path = found
        manifest: object = json.loads(path.read_bytes(), parse_constant=lambda _: None)
        orjson.dumps(manifest)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    except (ValueError, TypeError, RecursionError) as error:
        # TypeError is orjson's: text or numbers that no document could hold.
        raise _damaged(path, str(error)) from None
    if not isinstance(manifest, dict):
        raise _damaged(path, "no JSON object")
    return _run(folder, path, cast("Record", manifest)) if "forms" in manifest else None


def _manifest(folder: Path) -> Path | None:
    """The manifest in a directory, of several ranks the first one's."""
    found = (
        path
        for pattern in MANIFESTS
        for path in sorted(folder.glob(pattern), key=lambda path: (len(path.name), path.name))
    )
    return next((path for path in found if path.is_file()), None)


def _run(folder: Path, path: Path, manifest: Record) -> Run:
    version = manifest.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise UnreadableError(f"{path}: schema_version {version!r} is not {SCHEMA_VERSION}; use a newer tracelens")
    given: object = manifest["forms"]
    if not isinstance(given, dict):
        raise _damaged(path, "forms is no object")
    entries = cast("dict[str, object]", given)
    wrong = [name for name in FORMS if not isinstance(entries.get(name, {}), dict)]
    if wrong:
        raise _damaged(path, f"forms.{wrong[0]} is no object")
    forms = {name: cast("Record", entries[name]) for name in FORMS if name in entries}
    rank = path.stem.removeprefix("run")
    names = {name: forms.get(name, {}).get("trace") or f"{name}{rank}.pt.trace.json.gz" for name in FORMS}
    found = {name: _trace(folder, names[name]) for name in FORMS}
    return Run(folder, manifest, forms, {name: trace for name, trace in found.items() if trace is not None})


def _trace(folder: Path, name: object) -> Path | None:
    """The file of that name in the folder itself; a name that leads elsewhere is as none."""
    if not isinstance(name, str) or name != Path(name).name:
        return None
    path = folder / name
    try:
        inside = path.is_file() and path.resolve().parent == folder.resolve()
    except OSError:
        return None
    return path if inside else None


def _damaged(path: Path, what: str) -> UnreadableError:
    return UnreadableError(f"{path}: not the manifest of a run ({what}); record the run again, or name a trace")
