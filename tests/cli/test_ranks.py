"""tracelens ranks: which files it takes, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.advice.cases.beats import graph
from tests.advice.story import call, gemm, pointwise, told
from tests.runs import write_run
from tracelens.__main__ import main
from tracelens.exitcodes import ExitCode

Capture = pytest.CaptureFixture[str]


def written(path: Path, rank: int, size: int = 2) -> Path:
    info = {"rank": rank, "world_size": size}
    return told(*[pointwise(2, host=30)] * 40, distributedInfo=info).write(path / f"trace{rank}of{size}.json")


def test_a_directory_of_ranks_is_judged_as_one(tmp_path: Path, capsys: Capture) -> None:
    for rank in (1, 0):
        written(tmp_path, rank)
    assert main(["ranks", str(tmp_path), "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert [rank["rank"] for rank in found["ranks"]] == ["0", "1"]
    assert found["job"]["verdict"] == found["ranks"][0]["verdict"] == "both"
    assert main(["ranks", *map(str, tmp_path.iterdir())]) == ExitCode.OK
    assert capsys.readouterr().out.startswith("All 2 ranks. Both: ")


def test_what_is_no_job_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    zero, other = written(tmp_path, 0), written(tmp_path, 1, size=4)
    again = zero.rename(tmp_path / "again.json")
    zero = written(tmp_path, 0)
    for words, said in (
        ([zero], f"{zero} is one trace, ranks compares several"),
        ([zero, again], "several of the traces are of rank 0"),
        ([zero, other], "jobs of 2 and 4 ranks"),
    ):
        assert main(["ranks", *map(str, words)]) == ExitCode.USAGE
        assert said in capsys.readouterr().err
    assert main(["ranks", str(tmp_path / "no.json"), str(zero)]) == ExitCode.UNREADABLE


def test_traces_without_a_rank_are_told_apart_by_their_folders(tmp_path: Path, capsys: Capture) -> None:
    paths = [tmp_path / folder / "trace.json" for folder in ("first", "second")]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        told(*[pointwise(2, host=30)] * (40 + number)).write(path)
    assert main(["ranks", *map(str, paths), "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert [rank["rank"] for rank in found["ranks"]] == ["first/trace", "second/trace"]


def test_traces_of_other_programs_are_refused(tmp_path: Path, capsys: Capture) -> None:
    one = told(*[pointwise(2, host=30)] * 40).write(tmp_path / "one.json")
    other = told(*[gemm(15)] * 40).write(tmp_path / "other.json")
    assert main(["ranks", str(one), str(other)]) == ExitCode.USAGE
    assert "different programs: one and other have 0 %" in capsys.readouterr().err


def test_a_job_fails_on_its_verdict(tmp_path: Path, capsys: Capture) -> None:
    words = ["ranks", *(str(written(tmp_path, rank)) for rank in (0, 1)), "--fail-on"]
    assert main([*words, "both,compile"]) == ExitCode.CONDITION
    assert capsys.readouterr().err == "tracelens: --fail-on: the verdict is both\n"
    assert main([*words, "replay"]) == ExitCode.OK
    assert main([*words, "idle=20"]) == ExitCode.USAGE
    assert "idle is of one rank" in capsys.readouterr().err
    assert main([*words, "foo"]) == ExitCode.USAGE
    assert "it takes both, compile, replay (see" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "begins"), [("a.md", "### All"), ("a.txt", "All 2"), ("a.json", "{")])
def test_a_job_is_written_as_the_file_is_named(tmp_path: Path, capsys: Capture, name: str, begins: str) -> None:
    traces = [str(written(tmp_path, rank)) for rank in (0, 1)]
    path = tmp_path / name
    assert main(["ranks", *traces, "-o", str(path)]) == ExitCode.OK
    assert path.read_text().startswith(begins)
    assert capsys.readouterr().out == ""
    assert main(["ranks", *traces, "-o", str(path)]) == ExitCode.USAGE
    assert "--force overwrites it" in capsys.readouterr().err
    assert main(["ranks", *traces, "-o", traces[0], "--force"]) == ExitCode.USAGE
    assert main(["ranks", *traces, "-o", str(tmp_path / "a.csv")]) == ExitCode.USAGE
    assert main(["ranks", *traces, "--force"]) == ExitCode.USAGE


def test_a_written_job_replaces_no_trace(tmp_path: Path, capsys: Capture) -> None:
    traces = [written(tmp_path, rank) for rank in (0, 1)]
    before = traces[1].read_bytes()
    assert main(["ranks", *map(str, traces), "-o", str(traces[1]), "--force"]) == ExitCode.USAGE
    assert "is a trace" in capsys.readouterr().err
    assert traces[1].read_bytes() == before


def ranked_run(path: Path) -> Path:
    """A run of two ranks."""
    run = write_run(path, traces=("eager", "replay"))
    manifest = json.loads((run / "run.json").read_text())
    for rank in (0, 1):
        for form in ("eager", "replay"):
            shutil.copy(run / f"{form}.pt.trace.json.gz", run / f"{form}.rank{rank}.pt.trace.json.gz")
            manifest["forms"][form]["trace"] = f"{form}.rank{rank}.pt.trace.json.gz"
        manifest["environment"] |= {"rank": rank, "world_size": 2}
        (run / f"run.rank{rank}.json").write_text(json.dumps(manifest))
    for name in ("run.json", "eager.pt.trace.json.gz", "replay.pt.trace.json.gz"):
        (run / name).unlink()
    return run


def changed(manifest: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrites a manifest as the function changes it."""
    found = json.loads(manifest.read_text())
    change(found)
    manifest.write_text(json.dumps(found))


def test_the_ranks_of_a_run_are_its_manifests_and_not_the_traces_of_its_forms(tmp_path: Path, capsys: Capture) -> None:
    assert main(["ranks", str(ranked_run(tmp_path / "run")), "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert [rank["rank"] for rank in found["ranks"]] == ["0", "1"]
    assert found["doubt"] is None
    assert found["job"]["now"] == "eager"
    assert {form["source"] for form in found["job"]["forms"].values()} == {"measured"}


def test_what_the_runs_of_ranks_lack_is_said(tmp_path: Path, capsys: Capture) -> None:
    run = ranked_run(tmp_path / "run")
    for rank in (0, 1):
        changed(run / f"run.rank{rank}.json", lambda found: found.update(complete=False))
    changed(run / "run.rank1.json", lambda found: found["forms"]["eager"].update(step_ms=None))
    assert main(["ranks", str(run)]) == ExitCode.OK
    told = " ".join(capsys.readouterr().out.split())
    assert "! Run of rank 1: eager has neither a time nor an error" in told
    assert "! Run of ranks 0, 1: the run was interrupted" in told
    assert main(["ranks", str(run), "--json"]) == ExitCode.OK
    notes = [rank["notes"] for rank in json.loads(capsys.readouterr().out)["ranks"]]
    assert [len(found) for found in notes] == [1, 2]


def test_a_form_pays_after_as_many_steps_as_its_set_up_and_the_times_of_the_job_give(
    tmp_path: Path, capsys: Capture
) -> None:
    run = ranked_run(tmp_path / "run")
    changed(run / "run.rank1.json", lambda found: found["forms"]["eager"].update(step_ms=0.9, low=0.88, high=0.93))
    assert main(["ranks", str(run), "--json"]) == ExitCode.OK
    forms = json.loads(capsys.readouterr().out)["job"]["forms"]
    gain_s = (forms["eager"]["step_ms"] - forms["replay"]["step_ms"]) / 1e3
    longer_s = forms["replay"]["setup_s"] - forms["eager"]["setup_s"]
    assert forms["eager"]["step_ms"] == 0.9
    assert forms["replay"]["break_even_steps"] == pytest.approx(longer_s / gain_s)


def test_a_rank_whose_manifest_is_none_is_not_passed_over(tmp_path: Path, capsys: Capture) -> None:
    run = ranked_run(tmp_path / "run")
    (run / "run.rank2.json").write_text('{"schema_version": 1}')
    assert main(["ranks", str(run)]) == ExitCode.UNREADABLE
    assert "run.rank2.json: not the manifest of a run (no forms)" in capsys.readouterr().err


def test_the_forms_of_one_run_are_no_ranks(tmp_path: Path, capsys: Capture) -> None:
    run = write_run(tmp_path / "run", traces=("eager", "replay"))
    traces = [str(run / f"{form}.pt.trace.json.gz") for form in ("eager", "replay")]
    for words in (traces, [str(run), traces[1]]):
        assert main(["ranks", *words]) == ExitCode.USAGE
        assert "are of one run, whose forms are no ranks" in capsys.readouterr().err
    assert main(["ranks", str(run)]) == ExitCode.USAGE
    assert " is one trace, ranks compares several" in capsys.readouterr().err


def test_a_copy_is_no_other_rank(tmp_path: Path, capsys: Capture) -> None:
    one = told(*[pointwise(2, host=30)] * 40).write(tmp_path / "one.json")
    shutil.copy(one, tmp_path / "other.json")
    assert main(["ranks", str(one), str(tmp_path / "other.json")]) == ExitCode.USAGE
    assert "one and other are one recording" in capsys.readouterr().err
    assert main(["ranks", str(one), str(tmp_path / "." / "one.json")]) == ExitCode.USAGE
    assert "one.json is given twice" in capsys.readouterr().err


def test_a_directory_without_a_rank_is_named(tmp_path: Path, capsys: Capture) -> None:
    ranks = [str(written(tmp_path, rank)) for rank in (0, 1)]
    (tmp_path / "none").mkdir()
    assert main(["ranks", *ranks, str(tmp_path / "none")]) == ExitCode.UNREADABLE
    assert "none: no .json, .json.gz or .json.zst trace in this directory" in capsys.readouterr().err


def test_ranks_without_a_verdict_exit_as_their_reports_do(tmp_path: Path, capsys: Capture) -> None:
    eager = written(tmp_path, 0)
    info = {"rank": 1, "world_size": 2}
    replayed, empty = tmp_path / "replayed.json", tmp_path / "empty.json"
    told(graph(40, 10.0), distributedInfo=info).write(replayed)
    told(call("cudaEventRecord", 1), distributedInfo=info).write(empty)
    assert main(["ranks", str(eager), str(replayed)]) == main(["report", str(replayed)]) == ExitCode.OK
    assert "They run in different forms" in capsys.readouterr().out
    assert main(["ranks", str(eager), str(replayed), "--fail-on", "both"]) == ExitCode.NOTHING_TO_JUDGE
    assert capsys.readouterr().err == "tracelens: --fail-on: there is no verdict\n"
    assert main(["ranks", str(eager), str(empty)]) == main(["report", str(empty)]) == ExitCode.NOTHING_TO_JUDGE
