"""`tracelens report RUN_DIR` and `show RUN_DIR HANDLE`: whole, partial, differing and damaged runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests import runs
from tracelens.__main__ import main
from tracelens.exitcodes import ExitCode

Capture = pytest.CaptureFixture[str]
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are named as a user names them, so that outputs hold no temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def printed(capsys: Capture, *words: str, code: ExitCode = ExitCode.OK) -> str:
    assert main(["report", *words]) == code
    return capsys.readouterr().out


def document(capsys: Capture, *words: str, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
    return json.loads(printed(capsys, *words, "--json", code=code))


DIFFERING = {**runs.ALL, "both": runs.measured(0.06, outputs="differ", largest_error=0.25, setup_s=2.4)}
BLOCKED = {
    **runs.ALL,
    "replay": runs.failed("sync", "AcceleratorError: operation not permitted when stream is capturing", "model.py:41"),
    "both": runs.failed("memory", "OutOfMemoryError: CUDA out of memory"),
}
KILLED = {name: runs.ALL[name] for name in ("eager", "compile")}


@pytest.mark.parametrize(
    ("name", "forms", "head"),
    [
        ("whole", runs.ALL, {}),
        ("differing", DIFFERING, {}),
        ("blocked", BLOCKED, {}),
        ("killed", KILLED, {"complete": False}),
    ],
)
@pytest.mark.parametrize("suffix", ["txt", "md"])
def test_a_run_is_told_as_recorded(
    name: str, forms: dict[str, Any], head: dict[str, Any], suffix: str, capsys: Capture
) -> None:
    runs.write_run(Path(name), forms, **head)
    assert main(["report", name, "--limit", "1", *(["-o", "out.md"] if suffix == "md" else [])]) == ExitCode.OK
    text = Path("out.md").read_text(encoding="utf-8") if suffix == "md" else capsys.readouterr().out
    path = GOLDEN / f"run.{name}.{suffix}"
    if os.environ.get("TRACELENS_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


def test_the_document_holds_measurements_predictions_and_the_run(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    found = document(capsys, "run")
    assert found["recommendation"]["verdict"] == "both"
    assert {form["source"] for form in found["forms"].values()} == {"measured"}
    assert all(form["predicted"]["low"] <= form["predicted"]["step_ms"] for form in found["forms"].values())
    assert found["forms"]["compile"]["break_even_steps"] == pytest.approx(40_000)
    assert found["forms"]["compile"]["blockers"][0]["where"] == "/home/me/model.py:41"
    assert found["run"]["id"] == "e0538255d549"
    assert found["run"]["traces"] == {"eager": "eager.pt.trace.json.gz"}
    assert found["run"]["target"] == {"kind": "function", "name": "step", "where": "/home/me/train.py:4"}
    assert found["trace"]["path"] == str(Path("run", "eager.pt.trace.json.gz"))
    assert found["attribution"]["window_ns"] > 0


def test_a_trace_keeps_the_facts_of_the_run_that_it_lies_in(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=("eager", "compile"))
    whole = document(capsys, "run")
    for form in ("eager", "compile"):
        found = document(capsys, f"run/{form}.pt.trace.json.gz")
        assert found["run"]["id"] == "e0538255d549"
        assert found["recommendation"]["verdict"] == "both"
        assert {name: found["forms"][name]["step_ms"] for name in found["forms"]} == {
            name: whole["forms"][name]["step_ms"] for name in whole["forms"]
        }


def test_a_trace_that_left_its_run_knows_its_own_form_only(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    Path("run/eager.pt.trace.json.gz").rename("moved.json.gz")
    found = document(capsys, "moved.json.gz")
    assert found["run"] is None
    assert [name for name, form in found["forms"].items() if form["source"] == "measured"] == ["eager"]


def test_a_trace_of_another_run_takes_nothing_from_the_one_it_lies_in(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    runs.host_bound().stamp(run="deadbeef", form="eager").write(Path("run/eager.pt.trace.json.gz"))
    assert document(capsys, "run/eager.pt.trace.json.gz")["run"] is None


def test_other_ranks_are_named_and_can_be_chosen(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    manifest = Path("run/run.json").read_text(encoding="utf-8")
    Path("run/run.json").unlink()
    for rank, step in enumerate((0.7, 7.0)):
        told = json.loads(manifest)
        told["forms"]["eager"].update(step_ms=step, low=step, high=step)
        Path(f"run/run.rank{rank}.json").write_text(json.dumps(told), encoding="utf-8")
    named = str(Path("run", "run.rank1.json"))
    assert document(capsys, "run")["run"]["notes"] == [
        f"the first rank is shown; run.rank1.json is left out: tracelens report {named}"
    ]
    other = document(capsys, named)
    assert other["forms"]["eager"]["step_ms"] == 7.0
    assert other["run"]["notes"] == []


@pytest.mark.parametrize(("step", "said"), [(-1, "-1"), ("fast", "'fast'"), (0, "0"), ("x" * 900, "'xxx")])
def test_a_measurement_that_is_no_time_is_named(step: object, said: str, capsys: Capture) -> None:
    runs.write_run(Path("run"), {**runs.ALL, "both": {**runs.ALL["both"], "step_ms": step}})
    (note,) = document(capsys, "run")["run"]["notes"]
    assert note.startswith(f"both was measured, but its step_ms {said}")
    assert len(note) < 120
    assert printed(capsys, "run").startswith("! both was measured, but")


def test_a_trace_that_cannot_be_used_says_why(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=())
    manifest = json.loads(Path("run/run.json").read_text(encoding="utf-8"))
    for form in ("eager", "compile"):
        manifest["forms"][form]["trace"] = "/elsewhere/trace.json"
    Path("run/run.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert document(capsys, "run")["run"]["notes"] == [
        "the traces of eager, compile cannot be used: the manifest names a place outside the run's directory",
    ]


def test_without_any_trace_the_measurements_remain(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=())
    text = printed(capsys, "run")
    assert text.startswith("! the run has no usable trace")
    assert "Both: 0.70 -> 0.060 ms (measured 0.059-0.062)." in text
    assert "activities=" not in text
    assert main(["show", "run", "g-3"]) == ExitCode.UNREADABLE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_the_eager_trace_the_account_is_of_another(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=("compile",))
    assert "! the run has no usable trace of eager: the account is that of compile" in printed(capsys, "run")


def test_a_damaged_trace_is_named_and_the_rest_reported(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=("eager", "compile"))
    Path("run/eager.pt.trace.json.gz").write_bytes(b"{")
    text = printed(capsys, "run")
    assert text.startswith("! eager.pt.trace.json.gz is left out: not a torch.profiler trace")
    assert "! the run has no usable trace of eager: the account is that of compile" in text
    assert "Both: 0.70 -> 0.060 ms (measured 0.059-0.062;" in text
    handle = document(capsys, "run")["tables"]["gaps"][0]["handle"]
    assert main(["show", "run", handle]) == ExitCode.OK


def test_a_run_that_measured_nothing_says_why(capsys: Capture) -> None:
    runs.write_run(Path("run"), {"eager": runs.failed("error", "RuntimeError: no", "train.py:3")}, traces=())
    text = printed(capsys, "run", code=ExitCode.NOTHING_TO_JUDGE)
    assert "eager: RuntimeError: no at train.py:3" in text


def test_a_run_that_was_killed_at_once_is_read(capsys: Capture) -> None:
    runs.write_run(Path("run"), {}, traces=(), complete=False)
    text = printed(capsys, "run", code=ExitCode.NOTHING_TO_JUDGE)
    assert "interrupted before it measured a form; record it again" in text


def test_show_takes_the_handles_of_the_reported_trace(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=("eager", "both"))
    handle = document(capsys, "run")["tables"]["gaps"][0]["handle"]
    assert main(["show", "run", handle, "--json"]) == ExitCode.OK
    of_run = capsys.readouterr().out
    assert main(["show", "run/eager.pt.trace.json.gz", handle, "--json"]) == ExitCode.OK
    assert of_run == capsys.readouterr().out


def test_a_damaged_manifest_is_one_line(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    Path("run/run.json").write_text('{"forms": {"eager"')
    assert main(["report", "run"]) == ExitCode.UNREADABLE
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1


def test_words_of_a_manifest_cannot_drive_the_terminal_or_the_page(capsys: Capture) -> None:
    evil = "\x1b]0;title\x07 <script> | @me `"
    forms = {**runs.ALL, "replay": runs.failed("error", evil, evil), "both": runs.measured(0.1, variant=evil)}
    runs.write_run(Path("run"), forms, command=[evil], environment={"torch": evil}, target={"name": evil})
    assert "\x1b" not in printed(capsys, "run")
    printed(capsys, "run", "-o", "run.md")
    page = Path("run.md").read_text(encoding="utf-8")
    assert "<script>" not in page.replace("\\<script>", "")
    assert "\x1b" not in page


def test_fail_on_holds_on_a_measured_verdict(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    printed(capsys, "run", "--fail-on", "both", code=ExitCode.CONDITION)


def test_an_idle_share_that_nobody_recorded_is_no_pass(capsys: Capture) -> None:
    runs.write_run(Path("run"), traces=())
    assert main(["report", "run", "--fail-on", "idle=20"]) == ExitCode.NOTHING_TO_JUDGE
    assert "without a trace" in capsys.readouterr().err
    printed(capsys, "run", "--fail-on", "idle=20,both", code=ExitCode.CONDITION)


def test_a_run_in_markdown_tells_when_the_set_up_has_paid(capsys: Capture) -> None:
    runs.write_run(Path("run"))
    printed(capsys, "run", "-o", "run.md")
    page = Path("run.md").read_text(encoding="utf-8")
    assert "| set-up pays after |" in page
    assert "40,000 steps" in page


def test_notes_of_the_forms_and_the_rank_are_told(capsys: Capture) -> None:
    forms = {**runs.ALL, "eager": {**runs.ALL["eager"], "notes": ["the script compiles itself", 3]}}
    runs.write_run(Path("run"), forms, environment={"rank": 0, "world_size": 8})
    text = printed(capsys, "run")
    assert text.startswith("! forms.eager.notes[1] is no text, 3: it is left out\n! the script compiles itself\n")
    assert "run (rank 0 of 8)" in text


@pytest.mark.parametrize(
    ("complete", "said"), [(True, "the run measured no form;"), (False, "interrupted before it measured a form;")]
)
def test_a_run_without_forms_says_so(complete: bool, said: str, capsys: Capture) -> None:
    runs.write_run(Path("run"), {}, traces=(), complete=complete)
    text = printed(capsys, "run", code=ExitCode.NOTHING_TO_JUDGE)
    assert said in text
    assert "What was tried" not in text


def test_a_run_without_a_device_gives_no_verdict_and_shows_what_was_measured(capsys: Capture) -> None:
    absent = runs.failed("no_cuda", "needs a CUDA device: torch 2.11.0 has none here; capture where there is one")
    ran = {"eager": runs.measured(31.8), "compile": runs.measured(40.8, outputs="unchecked")}
    for name, forms in (("all", {**ran, "replay": absent, "both": absent}), ("two", ran)):
        runs.write_run(Path(name), forms, traces=())
        runs.host_only().stamp(form="eager", run=runs.ID, **ran["eager"]).write(Path(name, "eager.pt.trace.json.gz"))
        text = printed(capsys, name, code=ExitCode.NOTHING_TO_JUDGE)
        assert "No verdict. No measured form used a GPU." in text
        assert "the captured step used no GPU; capture it where it runs on one" in " ".join(text.split())
        assert "Four ways to run the step" in text
        assert "40.8" in text
        assert "would pay" not in text
        assert "Outputs not compared with eager's: compile." in text
        found = document(capsys, name, code=ExitCode.NOTHING_TO_JUDGE)
        assert found["recommendation"]["verdict"] == "abstain"
        assert found["forms"]["eager"]["step_ms"] == 31.8
        assert main(["report", f"{name}/eager.pt.trace.json.gz"]) == ExitCode.NOTHING_TO_JUDGE
        capsys.readouterr()


def test_measured_times_of_a_device_stand_where_its_records_are_missing(capsys: Capture) -> None:
    forms = {"eager": runs.measured(3.0, peak_mib=12.0), "compile": runs.measured(4.0, peak_mib=12.0)}
    runs.write_run(Path("run"), forms, traces=())
    runs.host_only().stamp(form="eager", run=runs.ID, **forms["eager"]).write(Path("run/eager.pt.trace.json.gz"))
    text = printed(capsys, "run")
    assert "Neither: the step stays at 3.00 ms" in text
    assert "Neither torch.compile nor" not in text


@pytest.mark.parametrize(
    ("kind", "variant", "said"),
    [
        ("module", "manual", "compiled = torch.compile(model)"),
        ("module", "reduce-overhead", 'model = torch.compile(model, mode="reduce-overhead")'),
        ("training_step", "reduce-overhead", 'model = torch.compile(model, mode="reduce-overhead")'),
        ("function", "reduce-overhead", 'compiled = torch.compile(step, mode="reduce-overhead")'),
    ],
)
def test_the_code_wraps_what_was_measured(kind: str, variant: str, said: str, capsys: Capture) -> None:
    forms = {**runs.ALL, "both": runs.measured(0.06, variant=variant)}
    target = {"kind": kind, "name": "nets.Encoder", "where": "/home/me/nets.py:4"}
    runs.write_run(Path("run"), forms, target=target)
    snippet = document(capsys, "run")["recommendation"]["snippet"]
    assert said in snippet
    assert ("as measured: Encoder alone" in snippet) == (kind != "function")


def test_a_training_step_that_was_captured_in_two_is_told_so(capsys: Capture) -> None:
    forms = {**runs.ALL, "both": runs.measured(0.06, variant="manual", peak_mib=3.0)}
    runs.write_run(Path("run"), forms, target={"kind": "training_step", "name": "a\n" * 40}, traces=())
    snippet = document(capsys, "run")["recommendation"]["snippet"]
    assert snippet.startswith("# as measured: the module alone;")
    assert "torch.cuda.make_graphed_callables(torch.compile(model), example_inputs)" in snippet


def test_a_form_that_is_only_predicted_wraps_the_whole_step(capsys: Capture) -> None:
    runs.write_run(Path("run"), {"eager": runs.ALL["eager"]}, target={"kind": "module", "name": "nets.Encoder"})
    found = document(capsys, "run")
    assert found["forms"][found["recommendation"]["verdict"]]["source"] == "predicted"
    assert "as measured" not in found["recommendation"]["snippet"]
