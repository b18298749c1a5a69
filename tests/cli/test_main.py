"""Commands run in this process: output, diagnostics and exit codes."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracelens.api
from tests.build import TraceBuilder
from tests.reporting import example
from tracelens.__main__ import main
from tracelens.cli.conditions import parse_conditions, undecided
from tracelens.cli.output import write_file
from tracelens.cli.view import is_for_app
from tracelens.errors import UsageError
from tracelens.exitcodes import ExitCode
from tracelens.reporting.report import Report

Capture = pytest.CaptureFixture[str]


def host_bound(steps: int = 4) -> TraceBuilder:
    """Steps of 20 small kernels, each launched long after the one before has ended."""
    built = TraceBuilder()
    for step in range(steps):
        at = 1_000 * step
        built.step(step, start=at, dur=1_000)
        for kernel in range(20):
            start = at + 50 * kernel
            built.op("aten::add", start=start, dur=40, shapes=[[64, 64], [64, 64]], dtypes=["float", "float"])
            built.launch("void add_kernel<float>", start=start + 20, dur=6, at=start + 30, runs=5)
    return built


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return host_bound().write(tmp_path / "eager.json.gz")


def test_report_prints_text(trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace)]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert "Where the step goes" in out
    assert "\x1b" not in out
    assert not err


def test_a_path_alone_is_reported(trace: Path, capsys: Capture) -> None:
    assert main([str(trace)]) == ExitCode.OK
    alone = capsys.readouterr().out
    main(["report", str(trace)])
    assert alone == capsys.readouterr().out


def test_report_prints_the_document(trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace), "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["window"]["kind"] == "profiler_step"
    assert document["table_rows"]["kernels"] == len(document["tables"]["kernels"]) == 1


def test_an_uncompressed_trace_a_directory_and_stdin_read_alike(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = host_bound().write(tmp_path / "eager.json")
    stdin = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    verdicts: list[str] = []
    for name in (str(path), str(tmp_path), "-"):
        assert main(["report", name, "--json"]) == ExitCode.OK
        verdicts.append(json.loads(capsys.readouterr().out)["attribution"])
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_a_table_prints_as_csv(trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace), "--table", "launches"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "handle,call,ns,latency_ns,kernels,operator,where"
    assert len(lines) > 40


@pytest.mark.parametrize("suffix", [".md", ".txt", ".json", ".csv"])
def test_the_suffix_picks_the_format(trace: Path, tmp_path: Path, suffix: str, capsys: Capture) -> None:
    path = tmp_path / f"report{suffix}"
    assert main(["report", str(trace), "-o", str(path)]) == ExitCode.OK
    out, err = capsys.readouterr()
    starts = {".md": "###", ".txt": "Both: ", ".json": "{", ".csv": "name,kind,origin"}
    assert path.read_text(encoding="utf-8").startswith(starts[suffix])
    assert not out
    assert err == f"tracelens: wrote {path}\n"


def test_a_link_is_neither_replaced_nor_followed(trace: Path, tmp_path: Path, capsys: Capture) -> None:
    link, target = tmp_path / "link.json", tmp_path / "gone.json"
    link.symlink_to(target)
    assert main(["report", str(trace), "-o", str(link), "--force"]) == ExitCode.USAGE
    assert "is a link" in capsys.readouterr().err
    assert link.is_symlink()
    assert not target.exists()


@pytest.mark.parametrize("name", ["own.json", "eager.pt.trace.json", "run.json", "run.rank1.json"])
def test_a_report_replaces_no_trace_and_no_manifest(name: str, tmp_path: Path, capsys: Capture) -> None:
    own, target = host_bound().write(tmp_path / "own.json"), tmp_path / name
    target.write_bytes(own.read_bytes())
    before = target.read_bytes()
    assert main(["report", str(own), "-o", str(target), "--force"]) == ExitCode.USAGE
    assert target.read_bytes() == before
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_nothing_is_overwritten_without_force(trace: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "report.md"
    path.write_text("mine", encoding="utf-8")
    assert main(["report", str(trace), "-o", str(path)]) == ExitCode.USAGE
    assert path.read_text(encoding="utf-8") == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["report", str(trace), "-o", str(path), "--force"]) == ExitCode.OK
    assert path.read_text(encoding="utf-8").startswith("###")
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".part"] == []


def test_a_file_that_appears_while_another_is_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "report.md"

    def texts() -> Iterator[str]:
        yield "mine"
        path.write_text("another's", encoding="utf-8")

    with pytest.raises(UsageError, match="exists; --force overwrites it"):
        write_file(path, texts(), force=False)
    assert path.read_text(encoding="utf-8") == "another's"
    write_file(path, ["mine"], force=True)
    assert path.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_what_ends_the_writing_leaves_nothing(tmp_path: Path) -> None:
    def texts() -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "report.md", texts(), force=False)
    assert list(tmp_path.iterdir()) == []


def test_an_overwritten_file_keeps_who_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)
    write_file(path, ["new"], force=True)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_is_not_replaced_by_a_file(trace: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "pipe.md"
    os.mkfifo(path)
    assert main(["report", str(trace), "-o", str(path), "--force"]) == ExitCode.USAGE
    assert path.is_fifo()
    assert "is no file" in capsys.readouterr().err


def test_a_limit_counts_rows_and_0_lifts_it(trace: Path, capsys: Capture) -> None:
    main(["report", str(trace), "--limit", "2"])
    assert "more; --limit 0 shows all" in capsys.readouterr().out
    main(["report", str(trace), "--limit", "0"])
    assert "--limit" not in capsys.readouterr().out


def test_a_range_is_judged_alone(trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace), "--range", "0.5ms..2ms", "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["window"]["kind"] == "range"
    assert document["attribution"]["window_ns"] <= 1_500_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["repot"], "did you mean report?"),
        (["report"], "TRACE"),
        (["report", "x.json", "--limit", "-1"], "--limit"),
        (["report", "x.json", "--range", "3ms..1ms"], "ends before it starts"),
        (["report", "x.json", "--range", "1ms..1ms"], "is empty"),
        (["report", "x.json", "--range", "\u0663ms..5ms"], "unit"),
        (["report", "x.json", "--range", "12..15"], "unit"),
        (["view", "x.json", "--fps", "0"], "not a number of times a second"),
        (["view", "x.json", "--fps", "-1"], "not a number of times a second"),
        (["view", "x.json", "--fps", "9" * 40], "not a number of times a second"),
        (["report", "x.json", "-o", "a.html"], ".md, .txt, .json, .csv"),
        (["report", "x.json", "-o", "missing/a.md"], "missing does not exist; create it first"),
        (["report", "x.json", "--json", "-o", "a.md"], "different formats"),
        (["report", "x.json", "--table", "gaps", "--json"], "--table prints CSV"),
        (["report", "x.json", "--table", "kernel"], "'kernel'"),
        (["report", "x.json", "--fail-on", "bot"], "idle=PERCENT"),
        (["report", "x.json", "--fail-on", "idle=200"], "idle=PERCENT"),
        (["report", "x.json", "--bogus"], "tracelens report has no option --bogus (see tracelens report --help)"),
        (["show", "x.json", "g-1", "--jsn"], "tracelens show has no option --jsn; did you mean --json? (see"),
        (["report", "x.json", "y.json"], "'y.json'"),
        (["report", ""], "empty name"),
        (["report", "x.json", "--range", "all", "--step", "forward"], "not allowed with argument --range"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], said: str, capsys: Capture) -> None:
    assert main(words) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1
    assert said in err


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--device", "7"], "device 7"), (["--step", "nothing"], "nothing")],
)
def test_what_the_trace_lacks_is_one_line(trace: Path, options: list[str], said: str, capsys: Capture) -> None:
    assert main(["report", str(trace), *options]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert said in err
    assert not out
    assert len(err.splitlines()) == 1


def test_an_unreadable_trace_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    for name in (str(path), str(tmp_path / "missing.json"), str(tmp_path)):
        assert main(["report", name]) == ExitCode.UNREADABLE
        out, err = capsys.readouterr()
        assert not out
        assert len(err.splitlines()) == 1
        assert name in err


def test_a_trace_without_device_work_has_a_document_and_exit_4(tmp_path: Path, capsys: Capture) -> None:
    path = TraceBuilder().op("aten::add", start=0, dur=10).write(tmp_path / "cpu.json")
    assert main(["report", str(path), "--json", "--fail-on", "idle=0"]) == ExitCode.NOTHING_TO_JUDGE
    out, err = capsys.readouterr()
    assert json.loads(out)["recommendation"]["verdict"] == "abstain"
    assert err == "tracelens: --fail-on: there is nothing to judge, so no condition can hold\n"
    assert main(["report", str(path)]) == ExitCode.NOTHING_TO_JUDGE
    out, err = capsys.readouterr()
    assert out.startswith("! ")
    assert not err


def test_a_range_without_device_work_has_a_document_and_exit_4(trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace), "--json", "--range", "90s..91s"]) == ExitCode.NOTHING_TO_JUDGE
    found = json.loads(capsys.readouterr().out)
    assert found["window"]["kind"] == "range"
    assert "outside the recording, which lasts 4.00 ms" in found["window"]["notes"][0]
    assert "outside the recording" in found["trust"]["checks"][0]["message"]


def test_fail_on_tells_why(trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace), "--json", "--fail-on", "idle=20"]) == ExitCode.CONDITION
    out, err = capsys.readouterr()
    verdict = json.loads(out)["recommendation"]["verdict"]
    assert err.startswith("tracelens: --fail-on: the device idles 9")
    assert err.endswith("% of the window as recorded\n")
    other = next(name for name in ("both", "replay") if name != verdict)
    assert main(["report", str(trace), "--fail-on", f"{other},idle=99.9"]) == ExitCode.OK
    if verdict != "neither":
        assert main(["report", str(trace), "--fail-on", verdict]) == ExitCode.CONDITION


@pytest.mark.parametrize(("condition", "note"), [("replay", "a guess of 48 %"), ("both", "a guess"), ("idle=99", "")])
def test_fail_on_acts_on_no_guess(condition: str, note: str, capsys: Capture) -> None:
    guess = Path(__file__).parent.parent / "data/seventh/reversible_layers.eager.json.gz"
    assert main(["report", str(guess), "--json", "--fail-on", condition]) == ExitCode.OK
    out, err = capsys.readouterr()
    advised = json.loads(out)["recommendation"]
    assert (advised["verdict"], advised["decided"]) == ("replay", False)
    assert note in err
    assert bool(note) == ("--fail-on: cannot tell which form is fastest" in err)


def test_fail_on_says_that_there_is_no_verdict() -> None:
    document = Report(example.empty_analysis(), example.abstaining()).document
    assert undecided(parse_conditions("both"), document) == "there is no verdict"
    assert undecided(parse_conditions("idle=20"), document) == ""


def test_fail_on_a_verdict_that_no_trace_allows_is_exit_4(tmp_path: Path, capsys: Capture) -> None:
    unlinked = TraceBuilder().annotation("ProfilerStep#1", 0, 500)
    for at in range(40):
        unlinked.kernel("gemm", start=at * 10, dur=5)
    path = unlinked.write(tmp_path / "unlinked.json")
    assert main(["report", str(path)]) == ExitCode.OK
    assert main(["report", str(path), "--fail-on", "both"]) == ExitCode.NOTHING_TO_JUDGE
    assert "--fail-on: there is no verdict" in capsys.readouterr().err
    assert main(["report", str(path), "--fail-on", "both,idle=1"]) == ExitCode.CONDITION
    assert main(["report", str(path), "--fail-on", "idle=99"]) == ExitCode.OK


def test_show_tells_about_one_event(trace: Path, capsys: Capture) -> None:
    assert main(["show", str(trace), "k-1"]) == ExitCode.OK
    assert "void add_kernel<float>" in capsys.readouterr().out
    assert main(["show", str(trace), "k-1", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["handle"] == "k-1"


@pytest.mark.parametrize(("handle", "said"), [("k-9999", "k-80"), ("x-1", "g-"), ("12", "g-12")])
def test_show_knows_its_handles(trace: Path, handle: str, said: str, capsys: Capture) -> None:
    assert main(["show", str(trace), handle]) == ExitCode.USAGE
    assert said in capsys.readouterr().err


def test_an_interruption_is_no_traceback(trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tracelens.api, "load_found", interrupted)
    assert main(["report", str(trace)]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "tracelens: interrupted\n"


def test_a_defect_of_ours_says_so(trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(tracelens.api, "load_found", broken)
    monkeypatch.delenv("TRACELENS_DEBUG", raising=False)
    assert main(["report", str(trace)]) == ExitCode.UNREADABLE
    err = capsys.readouterr().err
    assert err.startswith("tracelens: internal error at test_main.py:")
    assert "ZeroDivisionError: division by zero" in err
    assert len(err.splitlines()) == 1
    monkeypatch.setenv("TRACELENS_DEBUG", "1")
    assert main(["report", str(trace)]) == ExitCode.UNREADABLE
    assert "Traceback" in capsys.readouterr().err


def test_a_path_can_neither_break_nor_colour_the_line_of_its_error(capsys: Capture) -> None:
    assert main(["report", "no\nsuch\x1b[31m.json"]) == ExitCode.UNREADABLE
    assert capsys.readouterr().err.startswith("tracelens: no\\x0asuch\\x1b[31m.json: ")


def test_a_link_that_leads_nowhere_is_not_replaced(trace: Path, tmp_path: Path) -> None:
    link = tmp_path / "report.md"
    link.symlink_to(tmp_path / "absent.md")
    assert main(["report", str(trace), "-o", str(link)]) == ExitCode.USAGE
    assert link.is_symlink()


def test_rules_are_listed_and_explained(capsys: Capture) -> None:
    assert main(["rules"]) == ExitCode.OK
    listed = capsys.readouterr().out
    assert "sync_points: Sync points\n      Fires when waits drain the queue (MEANINGFUL=0.005).\n" in listed
    assert max(map(len, listed.splitlines())) <= 80
    assert main(["rules", "--json"]) == ExitCode.OK
    rules = json.loads(capsys.readouterr().out)
    assert all(rule["id"] in listed and rule["learn_more"].startswith("https://") for rule in rules)
    assert main(["explain", rules[0]["id"]]) == ExitCode.OK
    assert rules[0]["constants"][0]["name"] in capsys.readouterr().out


def test_explain_lists_what_it_can_explain_and_refuses_the_rest(capsys: Capture) -> None:
    assert main(["explain"]) == ExitCode.OK
    assert "Trust checks" in capsys.readouterr().out
    assert main(["explain", "replai"]) == ExitCode.USAGE
    assert "did you mean replay" in capsys.readouterr().err


def test_view_opens_and_the_others_print(capsys: pytest.CaptureFixture[str]) -> None:
    for command, verb in (("view", "Opens"), ("report", "Prints")):
        assert main([command, "--help"]) == ExitCode.OK
        assert f"\n{verb} " in capsys.readouterr().out


LONG = "a" * 300
"""A name that no file system takes."""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([LONG], ExitCode.USAGE),
        ([f"{LONG}.json"], ExitCode.UNREADABLE),
        (["report", "TRACE", "-o", f"{LONG}.md"], ExitCode.USAGE),
        (["report", "TRACE", "-o", f"{LONG}/a.md"], ExitCode.USAGE),
        (["report", "TRACE", "--force"], ExitCode.USAGE),
        (["report", "TRACE", "--limit", "9" * 5_000], ExitCode.USAGE),
        (["report", "TRACE", "--fail-on", "9" * 5_000], ExitCode.USAGE),
    ],
)
def test_names_and_numbers_of_any_length_are_one_line(
    words: list[str], code: ExitCode, trace: Path, capsys: Capture
) -> None:
    assert main([str(trace) if word == "TRACE" else word for word in words]) == code
    out, err = capsys.readouterr()
    assert not out
    assert "internal error" not in err
    assert len(err) < 500
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["", ".md", ".JSON"])
def test_a_report_without_a_name_is_told_that_it_needs_one(name: str, trace: Path, capsys: Capture) -> None:
    assert main(["report", str(trace), "-o", name]) == ExitCode.USAGE
    assert "-o needs a file's name that ends in one of .md, .txt, .json, .csv" in capsys.readouterr().err


def test_a_name_as_long_as_a_file_may_have_is_written(trace: Path, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / ("b" * 252 + ".md")
    assert main(["report", str(trace), "-o", str(path)]) == ExitCode.OK
    assert path.read_text().startswith("### ")
    capsys.readouterr()


@pytest.mark.parametrize("redirected", ["stdin", "stdout", "stderr"])
def test_an_app_needs_all_three_streams(redirected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True, raising=False)
    assert is_for_app(["trace.json"])
    monkeypatch.setattr(getattr(sys, redirected), "isatty", lambda: False, raising=False)
    assert not is_for_app(["trace.json"])
