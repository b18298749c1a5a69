"""The reader of run directories: what is there, and nothing outside."""

from __future__ import annotations

import gzip
import json
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
        '{"schema_version": 2, "forms": {}}',
        '{"forms": {}, "run": "\\ud800"}',
        '{"forms": {}, "run": 123456789012345678901234567890}',
        '{"forms": ' * 100_000,
    ],
    ids=range(10),
)
def test_a_damaged_manifest_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableError) as refused:
        read_run(tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "run.json"))
    assert len(str(refused.value).splitlines()) == 1


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
    (folder / "run.json").write_text(json.dumps({"forms": {"eager": value}}), encoding="utf-8")
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
    (tmp_path / "run.rank2.json").write_text('{"forms": {}, "run": "second"}')
    (tmp_path / "run.json").unlink()
    (tmp_path / "eager.pt.trace.json.gz").rename(tmp_path / "eager.rank2.pt.trace.json.gz")
    run = read_run(tmp_path)
    assert run is not None
    assert run.manifest["run"] == "second"
    assert run.first_trace() == tmp_path / "eager.rank2.pt.trace.json.gz"
