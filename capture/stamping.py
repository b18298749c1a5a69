"""A form's trace in its final place: compressed, named after the form, carrying the form's measurements."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from capture.job import Job
from capture.records import SCHEMA_VERSION, FormRecord

STAMP = "tracelens"
"""Key of the trace's metadata under which the stamp lies."""
_LINE = re.compile(rb'"tracelens": \{[^\n]*\}(?=,?\n)')
_TRITON = re.compile(rb'"name": "(triton_[^"]+)"')


def stamp(record: FormRecord, form: str, run: str) -> dict[str, Any]:
    """Return what a trace carries of its own measurement."""
    return {"schema_version": SCHEMA_VERSION, "form": form, "run": run, **record.as_json()}


def publish_trace(job: Job, record: FormRecord, destination: Path) -> None:
    """Put the raw trace, if the form left one, with the stamp of its final record into the run directory."""
    record.trace = None
    if not job.raw_trace.exists():
        return
    text = job.raw_trace.read_bytes()
    record.triton_kernels = len(set(_TRITON.findall(text))) if job.form in {"compile", "both"} else None
    record.trace = destination.name
    value = b'"%s": %s' % (STAMP.encode(), json.dumps(stamp(record, job.form, job.run)).encode())
    _compress(_LINE.sub(lambda _: value, text, count=1), destination)
    job.raw_trace.unlink()


def _compress(text: bytes, destination: Path) -> None:
    """Write compressed; at the final name there is either nothing or the whole."""
    partial = destination.with_name(destination.name + ".partial")
    with gzip.open(partial, "wb", compresslevel=6) as sink:
        sink.write(text)
    partial.replace(destination)
