"""The reader of run directories: what is there, and nothing outside."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import runs
from tracelens.errors import UnreadableError
from tracelens.loading import load_trace
from tracelens.loading.choose import load_run, traces_in
from tracelens.loading.runs import read_run


def test_a_run_tells_its_forms_and_traces_simplest_first(tmp_path: Path) -> None:
    backwards = dict(reversed(runs.ALL.items()))
    run = read_run(runs.write_run(tmp_path, backwards, traces=("both", "eager")))
    assert run is not None
    assert list(run.forms) == ["eager", "compile", "replay", "both"]
    assert list(run.traces) == ["eager", "both"]
    assert run.complete
    assert run.first_trace() == tmp_path / "eager.pt.trace.json.gz"
    assert run.trace("replay") is None


def test_a_run_loads_as_its_first_trace(tmp_path: Path) -> None:
    runs.write_run(tmp_path, traces=("replay", "both"))
    assert load_trace(tmp_path).source.path == str(tmp_path / "replay.pt.trace.json.gz")


DAMAGED = "not a torch.profiler trace but empty; give the file that export_chrome_trace wrote"


def test_a_trace_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    recorded = read_run(runs.write_run(tmp_path, traces=("eager", "compile")))
    assert recorded is not None
    recorded.traces["eager"].write_bytes(b"")
    trace, run = load_run(recorded)
    assert trace.source.path == str(tmp_path / "compile.pt.trace.json.gz")
    assert list(run.traces) == ["compile"]
    assert run.notes == (f"eager.pt.trace.json.gz is left out: {DAMAGED}",)
    assert list(run.forms) == list(recorded.forms)
    assert load_trace(tmp_path).source.path == trace.source.path


def test_without_a_usable_trace_a_run_has_no_events(tmp_path: Path) -> None:
    recorded = read_run(runs.write_run(tmp_path, traces=("eager", "compile")))
    assert recorded is not None
    for path in recorded.traces.values():
        path.write_bytes(b"")
    trace, run = load_run(recorded)
    assert (len(trace.events), len(run.traces), len(run.notes)) == (0, 0, 2)


@pytest.mark.parametrize(
    ("stamp", "why"),
    [({"run": "deadbeef"}, "its stamp names another run, deadbeef"), ({"form": "replay"}, "its stamp says replay")],
)
def test_a_trace_that_says_it_is_another_s_is_left_out(tmp_path: Path, stamp: dict[str, str], why: str) -> None:
    recorded = read_run(runs.write_run(tmp_path, traces=("eager", "compile")))
    assert recorded is not None
    runs.host_bound().stamp(**{"run": runs.ID, "form": "eager", **stamp}).write(recorded.traces["eager"])
    _, run = load_run(recorded)
    assert list(run.traces) == ["compile"]
    assert run.notes == (f"eager.pt.trace.json.gz is left out: {why}",)


def test_a_trace_without_a_stamp_is_used_and_doubted(tmp_path: Path) -> None:
    recorded = read_run(runs.write_run(tmp_path))
    assert recorded is not None
    assert load_run(recorded)[1].notes == ()
    runs.host_bound().write(recorded.traces["eager"])
    trace, run = load_run(recorded)
    assert trace.source.path == str(recorded.traces["eager"])
    assert run.notes == ("eager.pt.trace.json.gz does not say that it is of this run",)


def test_a_killed_run_s_trace_is_found_by_its_form(tmp_path: Path) -> None:
    run = read_run(runs.write_run(tmp_path, {}, traces=("eager",), complete=False))
    assert run is not None
    assert not run.complete
    assert list(run.traces) == ["eager"]


@pytest.mark.parametrize(
    "name", ["../outside.json", "/etc/passwd", "", ".", "..", "sub/inside.json", "a\0b", "x" * 5_000, 7, ["a"], "link"]
)
def test_a_path_that_leads_out_of_the_directory_is_not_followed(tmp_path: Path, name: object) -> None:
    folder = tmp_path / "run"
    outside = runs.host_bound().write(tmp_path / "outside.json")
    runs.write_run(folder, traces=())
    (folder / "sub").mkdir()
    (folder / "sub" / "inside.json").write_bytes(outside.read_bytes())
    (folder / "link").symlink_to(outside)
    manifest = json.loads((folder / "run.json").read_text())
    manifest["forms"]["eager"]["trace"] = name
    (folder / "run.json").write_text(json.dumps(manifest))
    run = read_run(folder)
    assert run is not None
    assert not run.traces
    with pytest.raises(UnreadableError, match="left no usable trace"):
        load_trace(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[]",
        "7",
        '{"forms": 7}',
        '{"forms": {"eager": []}}',
        '{"forms": {}}',
        *(f'{{"schema_version": {version}, "forms": {{}}}}' for version in ("2", "0", '"1"', "true", "1.0", "null")),
        '{"schema_version": 1, "forms": {"eager": {}}, "forms": {}}',
        '{"schema_version": 1, "forms": {"eager": {"step_ms": 1, "step_ms": 2}}}',
        '{"forms": {}, "run": "\\ud800"}',
        '{"forms": {}, "run": 123456789012345678901234567890}',
        '{"forms": ' * 100_000,
    ],
    ids=range(18),
)
def test_a_damaged_manifest_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableError) as refused:
        read_run(tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "run.json"))
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("version", "what"),
    [(2, "is not 1; use a newer tracelens"), (0, "is not 1; record the run again"), ("1", "is no whole number")],
)
def test_a_version_that_is_not_read_says_what_to_do(tmp_path: Path, version: object, what: str) -> None:
    with pytest.raises(UnreadableError, match=f"schema_version {version!r} {what}"):
        read_run(runs.write_run(tmp_path, schema_version=version))


@pytest.mark.parametrize("kind", ["a link to itself", "a directory", "a pipe", "a link to nothing"])
def test_a_manifest_that_is_no_file_is_refused_by_its_name(tmp_path: Path, kind: str) -> None:
    manifest = runs.write_run(tmp_path) / "run.json"
    manifest.unlink()
    if kind == "a directory":
        manifest.mkdir()
    elif kind == "a pipe":
        os.mkfifo(manifest)
    else:
        manifest.symlink_to("run.json" if "itself" in kind else "gone.json")
    with pytest.raises(
        UnreadableError, match=r"run.json: not the manifest of a run \(neither a file nor a link to one"
    ):
        read_run(tmp_path)


@pytest.mark.parametrize("kind", ["a directory", "a pipe", "no name"])
def test_a_trace_that_is_no_file_is_named_with_the_reason(tmp_path: Path, kind: str) -> None:
    runs.write_run(tmp_path, traces=("compile",))
    name = "eager.pt.trace.json.gz"
    if kind == "a directory":
        (tmp_path / name).mkdir()
    elif kind == "a pipe":
        os.mkfifo(tmp_path / name)
    else:
        manifest = json.loads((tmp_path / "run.json").read_text())
        manifest["forms"]["eager"]["trace"] = "a\0b"
        (tmp_path / "run.json").write_text(json.dumps(manifest))
    run = read_run(tmp_path)
    assert run is not None
    assert list(run.traces) == ["compile"]
    why = "its name cannot be that of a file" if kind == "no name" else f"{name} is no file"
    assert run.notes == (f"the trace of eager cannot be used: {why}",)


WHOLE = "forms.both: {}: what was measured of it is left out"
PART = "forms.both.{}: it is left out"
ODD_FORMS: dict[str, tuple[dict[str, object], str]] = {
    "another source": ({"source": "predicted"}, WHOLE.format("its source is 'predicted', not measured")),
    "a range upside down": ({"low": 9, "high": 1}, WHOLE.format("its low 9 is above its high 1")),
    "a median below": ({"step_ms": 0.4, "low": 0.6, "high": 0.7}, WHOLE.format("its step_ms 0.4 is below its low 0.6")),
    "a median above": (
        {"step_ms": 0.8, "low": 0.6, "high": 0.7},
        WHOLE.format("its step_ms 0.8 is above its high 0.7"),
    ),
    "no steps": ({"steps": 0}, PART.format("steps is no number of 1 or more, 0")),
    "steps below none": ({"steps": -5}, PART.format("steps is no number of 1 or more, -5")),
    "a truth as a number": ({"low": True}, PART.format("low is no number of 0 or more, True")),
    "a set-up below none": ({"setup_s": -5}, PART.format("setup_s is no number of 0 or more, -5")),
    "text for a list": ({"blockers": "oops"}, PART.format("blockers is no list, 'oops'")),
    "an odd blocker": (
        {"blockers": [{"id": "x"}]},
        PART.format("blockers[0] is no object with an id and a message, {'id': 'x'}"),
    ),
    "an odd break": ({"graph_breaks": [5]}, PART.format("graph_breaks[0] is no object, 5")),
    "another outcome": (
        {"outputs": "maybe"},
        PART.format("outputs is neither match, differ nor unchecked, 'maybe'"),
    ),
    "an error beside a time": (
        {"error": "boom\nTraceback"},
        "both has a time and an error, boom Traceback: it may not run to its end",
    ),
}


@pytest.mark.parametrize("name", ODD_FORMS)
def test_what_no_recording_writes_of_a_form_is_named(tmp_path: Path, name: str) -> None:
    odd, note = ODD_FORMS[name]
    both = {**runs.ALL["both"], **odd}
    run = read_run(runs.write_run(tmp_path, {**runs.ALL, "both": both}))
    assert run is not None
    assert run.notes == (note,)
    left = run.forms.get("both", {})
    assert not left if note.startswith("forms.both: ") else left["step_ms"] == both["step_ms"]
    assert all(left.get(key) in (None, []) for key in odd if "it is left out" in note)


@pytest.mark.parametrize(
    ("head", "note"),
    [
        ({"command": "rm -rf"}, "command is no list, 'rm -rf': it is left out"),
        ({"environment": [1]}, "environment is no object, [1]: it is left out"),
        ({"run": 7}, "run is no text, 7: it is left out"),
        ({"complete": "yes"}, "complete is neither true nor false, 'yes': it is left out"),
    ],
)
def test_what_no_recording_writes_of_a_run_is_named(tmp_path: Path, head: dict[str, object], note: str) -> None:
    run = read_run(runs.write_run(tmp_path, **head))
    assert run is not None
    assert run.notes == (note,)
    assert not set(head) & set(run.manifest)


def test_a_form_that_is_not_known_is_named(tmp_path: Path) -> None:
    run = read_run(runs.write_run(tmp_path, {**runs.ALL, "turbo": runs.measured(0.1)}))
    assert run is not None
    assert run.notes == ("forms.turbo is no form that is known: it is left out",)


def test_a_directory_counts_its_traces_only(tmp_path: Path) -> None:
    trace = runs.host_bound().write(tmp_path / "eager.json.gz")
    (tmp_path / "step_ms.json").write_text('{"eager": {"step_ms": 3.1}}')
    with gzip.open(tmp_path / "times.json.gz", "wt") as file:
        file.write('{"eager": [3.1]}')
    assert traces_in(tmp_path) == [trace]
    assert load_trace(tmp_path).source.path == str(trace)


def test_what_is_no_manifest_leaves_a_directory_a_directory(tmp_path: Path) -> None:
    assert read_run(tmp_path) is None
    (tmp_path / "run.json").write_text('{"jobs": 3}')
    assert read_run(tmp_path) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_form_object_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    folder = tmp_path_factory.mktemp("run")
    (folder / "run.json").write_text(json.dumps({"schema_version": 1, "forms": {"eager": value}}), encoding="utf-8")
    try:
        run = read_run(folder)
    except UnreadableError:
        return
    assert run is not None
    assert list(run.forms) == ["eager"]


def test_of_several_ranks_the_first_is_read(tmp_path: Path) -> None:
    runs.write_run(tmp_path, traces=("eager",))
    for rank in ("2", "10"):
        (tmp_path / f"run.rank{rank}.json").write_bytes((tmp_path / "run.json").read_bytes())
    (tmp_path / "run.rank2.json").write_text('{"schema_version": 1, "forms": {}, "run": "second"}')
    (tmp_path / "run.json").unlink()
    (tmp_path / "eager.pt.trace.json.gz").rename(tmp_path / "eager.rank2.pt.trace.json.gz")
    run = read_run(tmp_path)
    assert run is not None
    assert run.manifest["run"] == "second"
    assert run.first_trace() == tmp_path / "eager.rank2.pt.trace.json.gz"
