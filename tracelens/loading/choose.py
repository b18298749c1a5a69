"""Which trace a path stands for: a file, standard input, the only one of a directory, the first usable one of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tracelens.errors import UnreadableError
from tracelens.loading.load import Progress, empty_trace, load_file
from tracelens.loading.repairs import one_line
from tracelens.loading.runs import FORMS, MANIFESTS, Run, read_run
from tracelens.loading.sources import STDIN
from tracelens.model.events import Trace

SHOWN: Final = 8
"""Traces or runs that an error names at most."""
SUFFIXES: Final = (".json", ".json.gz", ".json.zst")


def load_trace(path: str | Path, *, progress: Progress | None = None) -> Trace:
    """Read a torch.profiler trace whole: .json, .json.gz, .json.zst, a directory with one trace, the first usable
    trace of a run's directory, or "-" for standard input.

    Damage is mended and counted in Trace.repairs. UnreadableError, in one line, if this is no Chrome trace.
    """
    run = None if str(path) == STDIN else read_run(Path(path))
    if run is None:
        return load_file(_trace_file(path), progress=progress)
    trace, usable = load_run(run, progress=progress)
    if not usable.traces:
        raise UnreadableError(f"{run.folder}: this run left no usable trace; tracelens report shows what it measured")
    return trace


def load_run(run: Run, *, progress: Progress | None = None) -> tuple[Trace, Run]:
    """The first trace of a run that can be read and is the run's own, and the run without those before it, which its
    notes name. Where none can be used it is a trace without events."""
    for form, path in run.traces.items():
        try:
            trace = load_file(str(path), progress=progress)
        except UnreadableError as error:
            run = run.without(form, str(error).removeprefix(f"{path}: "))
            continue
        foreign = _foreign(trace, run, form)
        if not foreign:
            return trace, run if trace.stamp or "run" not in run.manifest else run.doubting(form)
        run = run.without(form, foreign)
    return empty_trace(str(run.folder)), run


def _foreign(trace: Trace, run: Run, form: str) -> str:
    """What in a trace's stamp says that it is not this form of this run; "" when nothing does."""
    stamp = trace.stamp or {}
    other, stamped = stamp.get("run"), stamp.get("form")
    if other is not None and other != run.manifest.get("run", other):
        return f"its stamp names another run, {one_line(str(other))}"
    return f"its stamp says {stamped}" if stamped in FORMS and stamped != form else ""


def _trace_file(path: str | Path) -> str:
    """The path itself, or the only trace inside a directory."""
    if str(path) == STDIN or not Path(path).is_dir():
        return str(path)
    found = [file for file in sorted(Path(path).iterdir()) if _looks_like_trace(file)]
    if len(found) == 1:
        return str(found[0])
    if not found:
        raise UnreadableError(
            f"{path}: no .json, .json.gz or .json.zst trace in this directory; {_instead(Path(path))}"
        )
    listed = _listed([file.name for file in found])
    raise UnreadableError(f"{path}: {len(found)} traces in this directory ({listed}); name one of them")


def _instead(folder: Path) -> str:
    """What to name instead of a directory without traces: the runs right below it, where there are any."""
    runs = sorted({str(manifest.parent) for pattern in MANIFESTS for manifest in folder.glob(f"*/{pattern}")})
    return f"name a run below it ({_listed(runs)})" if runs else "name a trace file"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def _looks_like_trace(file: Path) -> bool:
    """Whether a directory entry is a trace, not a run's manifest or a hidden file."""
    other = file.name.startswith(".") or (file.name.startswith("run.") and file.suffix == ".json")
    return file.name.endswith(SUFFIXES) and not other and file.is_file()
