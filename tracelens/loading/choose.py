"""Which trace a path stands for: a file, standard input, the only one of a directory, the first usable one of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tracelens.errors import UnreadableError
from tracelens.loading.inflate import DamagedStreamError, compression_of, gunzip
from tracelens.loading.load import Progress, empty_trace, load_file
from tracelens.loading.repairs import one_line
from tracelens.loading.runs import MANIFESTS, RUN, Run, manifests_in, read_run, run_around
from tracelens.loading.sources import STDIN
from tracelens.model.events import Trace
from tracelens.model.forms import FORMS

SHOWN: Final = 8
"""Traces or runs that an error names at most."""
BEGINNING: Final = 1 << 18
"""Bytes of a file that tell whether it is a trace."""
MARKS: Final = (
    b'"traceEvents"',
    b'"schemaVersion"',
    b'"ph"',
    b'"deviceProperties"',
    b'"displayTimeUnit"',
    b'"otherData"',
)
"""Keys of which a trace in a JSON object has one near its beginning."""
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


def load_found(path: str | Path, *, progress: Progress | None = None) -> tuple[Trace, Run | None]:
    """As `load_trace`, and the run: the directory that was named, or the one in which the trace lies as its own."""
    run = None if str(path) == STDIN else read_run(Path(path))
    if run is not None:
        return load_run(run, progress=progress)
    trace = load_file(_trace_file(path), progress=progress)
    return trace, None if str(path) == STDIN else _run_of(trace)


def _run_of(trace: Trace) -> Run | None:
    """The run that a trace was recorded in, if it lies in its directory still."""
    path, stamp = Path(trace.source.path), trace.stamp or {}
    run = run_around(path, stamp.get("run"))
    if run is None:
        return None
    form = next((form for form, of_form in run.traces.items() if of_form.name == path.name), None)
    if form is None or trace.stamp:
        return run if form is None or not _foreign(trace, run, form) else None
    return run.doubting(form)


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
    found = traces_in(Path(path))
    if len(found) == 1:
        return str(found[0])
    if not found:
        raise UnreadableError(_no_trace(Path(path)))
    listed = _listed([file.name for file in found])
    raise UnreadableError(
        f"{path}: {len(found)} traces in this directory ({listed}); name one of them, as {found[0]} (tracelens ranks "
        "judges the ranks of a job)"
    )


def _no_trace(folder: Path) -> str:
    return f"{folder}: no .json, .json.gz or .json.zst trace in this directory; {_instead(folder)}"


def _instead(folder: Path) -> str:
    """What to name instead of a directory without traces: the runs right below it, where there are any."""
    runs = sorted({str(manifest.parent) for pattern in MANIFESTS for manifest in folder.glob(f"*/{pattern}")})
    return f"name a run below it ({_listed(runs)})" if runs else "name a trace file"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def traces_in(folder: Path) -> list[Path]:
    """The traces in a directory by name: not a run's manifest, a hidden file, or JSON that begins as no trace does."""
    return [file for file in sorted(folder.iterdir()) if _looks_like_trace(file)]


def ranks_in(folder: Path) -> list[Path]:
    """What stands for each rank of a job in a directory: a run's manifest, of which each rank leaves one, else the
    traces. Those of the forms of one run are no ranks. UnreadableError where there is nothing,
    or only some of the ranks' manifests are of runs."""
    manifests = manifests_in(folder)
    runs = [manifest for manifest in manifests if read_run(manifest) is not None]
    others = [manifest for manifest in manifests if manifest.name != RUN and manifest not in runs]
    if runs and others:
        raise UnreadableError(f"{others[0]}: not the manifest of a run (no forms); record it again, or name the ranks")
    found = runs or traces_in(folder)
    if not found:
        raise UnreadableError(_no_trace(folder))
    return found


def _looks_like_trace(file: Path) -> bool:
    other = file.name.startswith(".") or (file.name.startswith("run.") and file.suffix == ".json")
    return file.name.endswith(SUFFIXES) and not other and file.is_file() and _begins_as_trace(file)


def _begins_as_trace(file: Path) -> bool:
    """Whether the file may be a trace by its first bytes; what cannot be read may be one, and is refused when named."""
    try:
        with file.open("rb") as opened:
            head = opened.read(BEGINNING)
        compression = compression_of(head)
        text = next(gunzip([head]), b"") if compression == "gzip" else head
    except (OSError, DamagedStreamError):
        return True
    return compression == "zstd" or not text.lstrip().startswith(b"{") or any(mark in text for mark in MARKS)
