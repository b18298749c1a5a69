"""What a thread beside the step does, or another process in the same file, changes no form of a measured step."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.validation.measured import FOLDER
from tracelens.advice import advise
from tracelens.advice.results import Advice
from tracelens.analysis import analyze
from tracelens.loading import load_trace

Event = dict[str, Any]
Document = dict[str, Any]
STEPS: Final = ("calibration/residual_norms", "fourth/following_teacher", "measured/blk_mask_select")
"""Of one thread, of training on two, and with waits of its own."""
DEVICE: Final = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_sync")
LOADER: Final = 77_001
FIRST_ID: Final = 50_000_000


@cache
def recorded(name: str) -> Document:
    return json.loads(gzip.decompress((FOLDER / f"{name}.eager.json.gz").read_bytes()))


def marks(document: Document) -> list[Event]:
    """The ProfilerSteps of the host."""
    events: list[Event] = document["traceEvents"]
    return [e for e in events if e.get("cat") == "user_annotation" and str(e["name"]).startswith("ProfilerStep#")]


def add(document: Document, like: Event, name: str, at: float, dur: float, **args: object) -> None:
    """A call on the loader's thread."""
    event = {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": like["pid"], "tid": LOADER, "ts": at, "dur": dur}
    document["traceEvents"].append({**event, "args": args})


def copies_and_waits(document: Document) -> None:
    """A loader copies a batch on a stream of its own and waits for it."""
    for number, step in enumerate(marks(document)):
        at, id = step["ts"] + 0.3 * step["dur"], FIRST_ID + number
        add(document, step, "cudaMemcpyAsync", at, 6.0, correlation=id)
        add(document, step, "cudaStreamSynchronize", at + 8, 22.0, correlation=FIRST_ID + 1000 + number)
        place = {"device": 0, "stream": 20, "correlation": id, "bytes": 602_112}
        copied = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 20}
        document["traceEvents"].append({**copied, "ts": at + 9, "dur": 15.0, "args": place})


def watches(document: Document) -> None:
    """A thread waits for events all the time."""
    for number, step in enumerate(marks(document)):
        for part in range(3):
            at, id = step["ts"] + part * step["dur"] / 3 + 1, FIRST_ID + 10 * number + part
            add(document, step, "cudaEventSynchronize", at, step["dur"] / 4, correlation=id)


def collates(document: Document) -> None:
    """A thread runs operators that launch nothing."""
    for step in marks(document):
        for part in range(30):
            event = {"ph": "X", "cat": "cpu_op", "name": "aten::stack", "pid": step["pid"], "tid": LOADER}
            at = step["ts"] + part * step["dur"] / 30
            document["traceEvents"].append({**event, "ts": at, "dur": step["dur"] / 40, "args": {}})


def merged(document: Document) -> None:
    """The file holds the trace again, as a process on another device recorded it."""
    for event in copy.deepcopy(document["traceEvents"]):
        args = event.get("args", {})
        for id in {"correlation", "External id"} & args.keys():
            args[id] += FIRST_ID
        if event.get("cat") in DEVICE:
            args["device"], event["pid"] = 1, 1
        elif event["ph"] == "X" and isinstance(event.get("pid"), int):
            event["pid"] += 10_000
            event["tid"] = event["tid"] + 10_000 if isinstance(event["tid"], int) else event["tid"]
        if event["ph"] == "X":
            document["traceEvents"].append(event)


def advised(document: Document, folder: Path) -> Advice:
    path = folder / "trace.json"
    path.write_text(json.dumps(document))
    return advise(analyze(load_trace(str(path)), device=0))


@pytest.mark.parametrize("edit", [copies_and_waits, watches, collates, merged])
@pytest.mark.parametrize("name", STEPS)
def test_forms_and_blockers_are_the_steps_own(name: str, edit: Callable[[Document], None], tmp_path: Path) -> None:
    document = copy.deepcopy(recorded(name))
    alone = advised(document, tmp_path)
    edit(document)
    found = advised(document, tmp_path)
    assert found.recommendation.verdict == alone.recommendation.verdict
    for form, expected in alone.forms.items():
        taken = expected.step_ms
        assert found.forms[form].step_ms == (taken if taken is None else pytest.approx(taken, rel=1e-9))
        assert [one.id for one in found.forms[form].blockers] == [one.id for one in expected.blockers]
