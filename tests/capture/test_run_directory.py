"""What a run leaves: manifest, traces, files of several ranks, exit code and the variant that is reported."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from capture.campaign import Campaign, exit_code, fastest, summary
from capture.job import Job, Plan
from capture.launcher import Outcome, _wait
from capture.manifest import RunDirectory, RunDirectoryError
from capture.progress import Board, Line, say
from capture.ranks import Rank, rendezvous, this_rank
from capture.records import FormRecord, counted
from capture.stamping import publish_trace
from capture.tape import Tape


def test_ranks_meet_on_a_port_of_their_own_at_each_turn() -> None:
    assert this_rank({"RANK": "0", "WORLD_SIZE": "1"}) is None
    assert rendezvous(1, {"MASTER_PORT": "29500"}) == {}
    job = {"RANK": "3", "WORLD_SIZE": "4", "MASTER_PORT": "29500"}
    assert this_rank(job) == Rank(3, 4)
    assert rendezvous(2, job) == {"MASTER_PORT": "29502", "TORCHELASTIC_USE_AGENT_STORE": "False"}


def test_a_rank_leaves_the_files_of_others_alone(tmp_path: Path) -> None:
    for rank in (Rank(1, 12), Rank(11, 12)):
        RunDirectory(tmp_path, [], "r", rank).create(force=False)
    with pytest.raises(RunDirectoryError, match="--force"):
        RunDirectory(tmp_path, [], "s", Rank(1, 12)).create(force=False)
    RunDirectory(tmp_path, [], "s", Rank(1, 12)).create(force=True)
    runs = [json.loads((tmp_path / f"run.rank{rank}.json").read_text())["run"] for rank in (1, 11)]
    assert runs == ["s", "r"]
    with pytest.raises(RunDirectoryError, match="not empty"):
        RunDirectory(tmp_path, [], "r").create(force=False)


def test_the_fastest_right_variant_is_reported() -> None:
    slow, fast, wrong = (FormRecord(step_ms=time) for time in (2.0, 1.0, 0.5))
    wrong.outputs = "differ"
    cannot = FormRecord(error="no")
    assert fastest([slow, fast, wrong, cannot]) is fast
    assert fastest([cannot, wrong]) is wrong
    assert fastest([cannot, FormRecord()]) is cannot


def test_the_commands_exit_code_is_eagers() -> None:
    def code(exit: int, error: str | None = None) -> int:
        return exit_code(Outcome({"finished": True}, exit), FormRecord(error=error))

    assert [code(0), code(3), code(0, "nothing repeats"), code(1, "out of memory")] == [0, 3, 2, 1]
    assert [code(-9, "killed by signal 9"), code(-15)] == [137, 0], "ended by us once it had told all"
    late = Outcome(None, -15, "did not end within 1 s (while measuring)")
    assert exit_code(late, FormRecord(error=late.cut)) == 2


def test_a_form_that_failed_after_its_measurement_is_told_as_failed_first() -> None:
    record = FormRecord(step_ms=0.056, low=0.05, high=0.06, error="did not end within 20 s (while measuring)")
    assert summary(record).startswith(
        "did not end within 20 s (while measuring); what it measured until then is kept: "
    )
    assert "0.056 ms a step" in summary(record)


@pytest.mark.parametrize(("done", "said"), [(True, None), (False, "did not end within 0 s (while starting)")])
def test_an_end_that_takes_long_makes_no_failure_of_what_is_done(tmp_path: Path, done: bool, said: str | None) -> None:
    board = Board(tmp_path / "board")
    board.show("done" if done else "starting")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert _wait(process, board, Line("eager"), timeout=0.01, grace=30.0) == said
        process.kill()


def test_forms_are_listed_in_one_order_whichever_was_told_first(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run", [], "r")
    directory.create(force=False)
    for form in ("eager", "both", "replay", "compile"):
        directory.add(form, FormRecord())
    assert list(json.loads(directory.manifest.read_text())["forms"]) == ["eager", "compile", "replay", "both"]


def test_a_difference_that_eager_has_of_itself_is_no_difference(tmp_path: Path) -> None:
    job = Job("compile", None, "a.py", False, (), tmp_path, tmp_path / "o.pt", "r")
    campaign = Campaign(job, ("eager",), RunDirectory(tmp_path, [], "r"), 1.0, Tape(0), noise=2.0)
    found = [FormRecord(outputs="differ", outputs_note="a", error_over_tolerance=error) for error in (5.0, 50.0)]
    for record in found:
        campaign._judge(job, record)
    assert [record.outputs for record in found] == ["match", "differ"]
    assert found[0].outputs_note == "a; two eager runs from parameters one rounding apart differ by 2 tolerances"


def test_random_numbers_of_one_rank_are_left_unchecked(tmp_path: Path) -> None:
    job = Job("compile", None, "a.py", False, (), tmp_path, tmp_path / "o.pt", "r", Plan(in_step=True))
    eager = {"record": {"random": True}}
    campaign = Campaign(job, ("eager",), RunDirectory(tmp_path, [], "r"), 1.0, Tape(0), eager=eager)
    record = FormRecord(outputs="differ", error_over_tolerance=50.0)
    campaign._judge(job, record)
    assert record.outputs == "unchecked"
    campaign.eager = {"record": {"random": False}}
    record = FormRecord(outputs="differ", error_over_tolerance=50.0)
    campaign._judge(job, record)
    assert record.outputs == "differ"


def test_rows_are_counted() -> None:
    rows = counted([("a", "x:1"), ("b", None), ("a", "x:1")], "reason")
    assert rows == [{"reason": "a", "where": "x:1", "count": 2}, {"reason": "b", "where": None, "count": 1}]


def test_published_trace_carries_the_final_record(tmp_path: Path) -> None:

    job = Job("compile", None, "a.py", False, (), tmp_path, tmp_path / "o.pt", "r7")
    events = [{"name": "triton_poi_0", "cat": "kernel"}, {"name": "triton_poi_0", "cat": "kernel"}]
    text = json.dumps({"traceEvents": events}, indent=2).replace("{\n", '{\n  "tracelens": {"step_ms": 1},\n', 1)
    job.raw_trace.write_text(text)
    record = FormRecord(step_ms=2.5)
    publish_trace(job, record, tmp_path / "compile.pt.trace.json.gz")
    trace = json.loads(gzip.decompress((tmp_path / "compile.pt.trace.json.gz").read_bytes()))
    assert (trace["tracelens"]["step_ms"], trace["tracelens"]["run"]) == (2.5, "r7")
    assert trace["traceEvents"] == events
    assert (record.triton_kernels, record.trace) == (1, "compile.pt.trace.json.gz")


def test_run_directory_is_whole_at_every_moment(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run", ["tracelens"], "r")
    directory.create(force=False)
    assert json.loads((tmp_path / "run/run.json").read_text())["complete"] is False
    directory.add("eager", FormRecord(step_ms=1.0))
    assert json.loads((tmp_path / "run/run.json").read_text())["forms"]["eager"]["step_ms"] == 1.0
    directory.finish(True)
    with pytest.raises(RunDirectoryError, match="--force"):
        RunDirectory(tmp_path / "run", [], "s").create(force=False)


def test_a_terminal_that_is_gone_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, ours = os.openpty()
    with os.fdopen(ours, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        line = Line("eager")
        os.close(terminal)
        line.update(Board(tmp_path / "board"))
        line.finish("1.0 ms a step")
        say("done")
