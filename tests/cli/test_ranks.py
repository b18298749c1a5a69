"""tracelens ranks: which files it takes, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.advice.story import gemm, pointwise, told
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
        ([zero], "several traces"),
        ([zero, again], "several of the traces are of rank 0"),
        ([zero, other], "jobs of 2 and 4 ranks"),
    ):
        assert main(["ranks", *map(str, words)]) == ExitCode.USAGE
        assert said in capsys.readouterr().err
    assert main(["ranks", str(tmp_path / "no.json"), str(zero)]) == ExitCode.UNREADABLE


def test_traces_without_a_rank_are_told_apart_by_their_folders(tmp_path: Path, capsys: Capture) -> None:
    paths = [tmp_path / folder / "trace.json" for folder in ("first", "second")]
    for path in paths:
        path.parent.mkdir()
        told(*[pointwise(2, host=30)] * 40).write(path)
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


def test_the_ranks_of_a_run_are_its_manifests_and_not_the_traces_of_its_forms(tmp_path: Path, capsys: Capture) -> None:
    run = write_run(tmp_path / "run", traces=("eager", "replay"))
    manifest = json.loads((run / "run.json").read_text())
    for rank in (0, 1):
        for form in ("eager", "replay"):
            shutil.copy(run / f"{form}.pt.trace.json.gz", run / f"{form}.rank{rank}.pt.trace.json.gz")
            manifest["forms"][form]["trace"] = f"{form}.rank{rank}.pt.trace.json.gz"
        manifest["environment"] |= {"rank": rank, "world_size": 2}
        (run / f"run.rank{rank}.json").write_text(json.dumps(manifest))
    for name in ("run.json", "eager.pt.trace.json.gz", "replay.pt.trace.json.gz"):
        (run / name).unlink()
    assert main(["ranks", str(run), "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert [rank["rank"] for rank in found["ranks"]] == ["0", "1"]
    assert found["doubt"] is None
    assert found["job"]["now"] == "eager"
    assert {form["source"] for form in found["job"]["forms"].values()} == {"measured"}
