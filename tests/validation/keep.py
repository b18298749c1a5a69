"""Keeps of a run what the tests need: its eager trace, without the measurement that it carries, and its step times."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from tests.validation.measured import FOLDER, STEP_MS
from tests.workloads import WORKLOADS

STAMP = re.compile(rb'^\s*"tracelens": \{.*\},\n', re.MULTILINE)
VARIANTS = {"reduce-overhead": "both", "manual": "both_manual"}


def keep(run: Path) -> None:
    """Add the run directory of a workload to the measurements of its set."""
    folder = FOLDER / WORKLOADS[run.name].split
    folder.mkdir(exist_ok=True)
    forms = json.loads((run / "run.json").read_text())["forms"]
    text = gzip.decompress((run / forms["eager"]["trace"]).read_bytes())
    (folder / f"{run.name}.eager.json.gz").write_bytes(gzip.compress(STAMP.sub(b"", text, count=1), 9, mtime=0))
    listed = folder / STEP_MS
    known = json.loads(listed.read_text()) if listed.exists() else {}
    known[run.name] = step_times(forms)
    listed.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


def step_times(forms: dict[str, Any]) -> dict[str, float]:
    """Median step time in ms of each form that ran; the two ways to compile and replay apart."""
    records = [(form, form, forms[form]) for form in ("eager", "compile", "replay") if form in forms]
    both = forms.get("both") or {}
    records += [("both", VARIANTS[record["variant"]], record) for record in both.get("variants") or [both] if record]
    return {name: round(record["step_ms"], 5) for _, name, record in records if record.get("step_ms")}
