"""A run directory: its manifest, and the traces that its forms left there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

import orjson

from tracelens.errors import UnreadableError
from tracelens.loading.manifest import Record, sound_forms, sound_head, version_refused
from tracelens.loading.repairs import one_line
from tracelens.model.forms import FORMS

RUN: Final = "run.json"
"""The manifest of a run that is of no rank."""
MANIFESTS: Final = (RUN, "run.rank*.json")
"""The manifest of a run, or one of each rank where there are several."""
LARGEST: Final = 1 << 26
"""Bytes of a manifest that is named as such. [judgement: those of 1,000 blockers have 1 MB]"""


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

    @property
    def target(self) -> Record:
        """What was repeated: its kind, name and where."""
        target = self.manifest.get("target")
        return cast("Record", target) if isinstance(target, dict) else {}

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


def read_run(place: Path) -> Run | None:
    """The run in a directory, None where there is none; UnreadableError, in one line, for a damaged manifest.

    Of several ranks it is the first, or the one whose manifest is named instead of the directory. An object without
    forms is a file of another program."""
    path = place
    try:
        found = manifests_in(place)
        if not found:
            return None
        path = found[0]
        if not path.is_file():
            raise _damaged(path, "neither a file nor a link to one")
        manifest: object = json.loads(path.read_bytes(), parse_constant=lambda _: None, object_pairs_hook=_object)
        orjson.dumps(manifest)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    except (ValueError, TypeError, RecursionError) as error:
        # TypeError is orjson's: text or numbers that no document could hold.
        raise _damaged(path, str(error)) from None
    if not isinstance(manifest, dict):
        raise _damaged(path, "no JSON object")
    return _run(path.parent, found, cast("Record", manifest)) if "forms" in manifest else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the manifest; ValueError where a key is there twice, as only one of its values could count."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {one_line(twice)} is there twice")
    return made


def run_around(trace: Path, run_id: object) -> Run | None:
    """The run in whose directory a trace lies, by the id in its stamp or, where it has none, as one of its forms';
    None where no sound manifest there is of it."""
    try:
        found = [read_run(manifest) for manifest in manifests_in(trace.parent)]
    except (UnreadableError, OSError):
        return None
    runs = [run for run in found if run is not None]
    named = [run for run in runs if any(path.name == trace.name for path in run.traces.values())]
    same = [run for run in named or runs if run_id is None or run.manifest.get("run", run_id) == run_id]
    return next((run for run in same if run_id is not None or run in named), None)


def manifests_in(place: Path) -> list[Path]:
    """The manifest that is named, or those in a directory, the first rank's first."""
    if not place.is_dir():
        return [place] if _is_named(place) and place.is_file() and _is_object(place) else []
    # Not by glob: a link to itself is there as well, and is no usable manifest.
    found = [path for path in place.iterdir() if _is_named(path)]
    return sorted(found, key=lambda path: (path.name != RUN, len(path.name), path.name))


def _is_named(path: Path) -> bool:
    return any(fnmatchcase(path.name, pattern) for pattern in MANIFESTS)


def _is_object(path: Path) -> bool:
    """Whether a file that is named as a manifest may be one: not so large as only traces are."""
    return path.stat().st_size <= LARGEST


def _run(folder: Path, manifests: list[Path], manifest: Record) -> Run:
    path, *others = manifests
    refused = version_refused(manifest)
    if refused:
        raise UnreadableError(f"{path}: {refused}")
    given: object = manifest["forms"]
    if not isinstance(given, dict):
        raise _damaged(path, "forms is no object")
    entries = cast("dict[str, object]", given)
    wrong = [name for name in FORMS if not isinstance(entries.get(name, {}), dict)]
    if wrong:
        raise _damaged(path, f"forms.{wrong[0]} is no object")
    forms, dropped = sound_forms(cast("dict[str, Record]", entries))
    head, odd = sound_head(manifest)
    rank = path.stem.removeprefix("run")
    names = {name: forms.get(name, {}).get("trace") or f"{name}{rank}.pt.trace.json.gz" for name in FORMS}
    found = {name: _trace(folder, names[name]) for name in FORMS}
    lost = {name: why for name, why in found.items() if isinstance(why, str) and forms.get(name, {}).get("trace")}
    notes = (*_of_other_ranks(others), *odd, *dropped, *_left_out(lost))
    return Run(folder, head, forms, {name: at for name, at in found.items() if isinstance(at, Path)}, notes)


def _left_out(lost: Mapping[str, str]) -> Iterator[str]:
    """What became of traces that the manifest names, what several have in common once."""
    for why in dict.fromkeys(lost.values()):
        names = [name for name in lost if lost[name] == why]
        yield f"the trace{'s' if len(names) > 1 else ''} of {', '.join(names)} cannot be used: {why}"


def _of_other_ranks(manifests: list[Path]) -> tuple[str, ...]:
    """That other ranks are not shown, and how to see one."""
    if not manifests:
        return ()
    more = f" and those of {len(manifests) - 1} more ranks are" if len(manifests) > 1 else " is"
    return (f"the first rank is shown; {manifests[0].name}{more} left out: tracelens report {manifests[0]}",)


def _trace(folder: Path, name: object) -> Path | str | None:
    """The file of that name in the folder itself, or why a name that leads elsewhere is as none."""
    if not isinstance(name, str) or name != Path(name).name:
        return "the manifest names a place outside the run's directory"
    path = folder / name
    try:
        path.lstat()
        if not path.is_file():
            return f"{one_line(name)} is no file"
        inside = path.resolve().parent == folder.resolve()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "its name cannot be that of a file"
    return path if inside else f"{one_line(name)} leads out of the run's directory"


def _damaged(path: Path, what: str) -> UnreadableError:
    return UnreadableError(f"{path}: not the manifest of a run ({what}); record the run again, or name a trace")
