"""One script, run as eager and compile for real: input, arguments, output, its own `capture` module, random numbers."""

from __future__ import annotations

import pytest

from tests.capture.conftest import Captured, Workshop

SCRIPT = """
    import os
    import random
    import sys

    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    import capture

    assert __name__ == "__main__" and __spec__ is None
    print("args", sys.argv[1:], "own", capture.WHAT, "cwd", os.getcwd() == os.path.dirname(__file__))
    print("first line", sys.stdin.readline().strip())
    print("drawn", random.random(), torch.rand(1).item())


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x):
            return nn.functional.dropout(self.inner(x).relu(), 0.5)


    if __name__ == "__main__":
        net = Net().eval()
        loader = DataLoader(torch.randn(400, 8), batch_size=4, num_workers=1)
        with torch.no_grad():
            for x in loader:
                y = net(x)
        print("reached the end")
"""


@pytest.fixture(scope="module")
def run(shared_workshop: Workshop) -> Captured:
    shared_workshop.write(SCRIPT)
    shared_workshop.write("WHAT = 'the script\\'s'\n", "capture.py")
    words = ("--warmup", "6", "--measure", "12", "--active", "2", "--stack", "--memory", "--seed", "7")
    return shared_workshop.capture(*words, "script.py", "--rate", "3", stdin="hello\nrest\n")


def test_eager_output_passes_through(run: Captured) -> None:
    assert run.code == 0, run.stderr
    assert "args ['--rate', '3'] own the script's cwd True" in run.stdout
    assert "first line hello" in run.stdout
    assert "reached the end" not in run.stdout, "the script is stopped after its last needed step"
    assert "so do its side effects" in run.stderr
    lines = [line.partition(":")[0] for line in run.stderr.splitlines()]
    assert lines.index("replay") < lines.index("compile"), "what cannot run is told at once"
    assert lines.index("no CUDA device in use") < lines.index("eager"), "and as soon as eager is warm"
    assert run.stderr.splitlines()[-1] == f"tracelens report {run.path} tells what it means"


def test_other_forms_write_to_their_logs_and_read_the_same_input(run: Captured) -> None:
    assert run.stdout.count("first line") == 1
    assert "first line hello" in (run.path / "compile.log").read_text()


def test_every_form_starts_from_the_same_seed(run: Captured) -> None:
    drawn = [line for line in run.stdout.splitlines() if line.startswith("drawn")]
    assert drawn == [line for line in (run.path / "compile.log").read_text().splitlines() if line.startswith("drawn")]
    assert run.form("eager")["random"]


def test_steps_are_measured_without_and_with_the_profiler(run: Captured) -> None:
    for name in ("eager", "compile"):
        form = run.form(name)
        assert form["error"] is None
        assert 0 < form["low"] <= form["step_ms"] <= form["high"]
        assert form["steps"] == 11
        assert form["traced_steps"] == 2
        assert form["traced_over_untraced"] > 0
        assert 0 < form["region_ms"] <= form["event_step_ms"]
    assert run.form("compile")["setup_s"] > run.form("eager")["setup_s"]


def test_outputs_of_the_same_calls_are_compared_drawing_the_same_random_numbers(run: Captured) -> None:
    form = run.form("compile")
    assert (form["outputs"], form["outputs_note"]) == ("match", "3 comparisons, drawing eager's random numbers")
    assert form["largest_error"] < 1e-5


def test_compiler_is_asked(run: Captured) -> None:
    form = run.form("compile")
    assert (form["compiler_graphs"], form["graph_breaks"], form["recompiles"]) == (1, [], [])


def test_replay_says_that_it_needs_a_cuda_device(run: Captured) -> None:
    for name in ("replay", "both"):
        form = run.form(name)
        assert form["step_ms"] is None
        assert form["blockers"][0]["id"] == "no_cuda"
        assert "CUDA device" in form["error"]


def test_traces_hold_the_steps_and_the_stamp(run: Captured) -> None:
    for name in ("eager", "compile"):
        trace = run.trace(name)
        steps = {event["name"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")}
        assert len(steps) == 2
        assert trace["tracelens"]["step_ms"] == run.form(name)["step_ms"]
        assert trace["tracelens"]["form"] == name
        assert trace["tracelens"]["run"] == run.manifest["run"]


def test_stacks_and_memory_are_recorded_where_asked_for(run: Captured) -> None:
    events = run.trace("eager")["traceEvents"]
    assert any(event.get("cat") == "python_function" and "script.py" in event["name"] for event in events)
    assert any(event["name"] == "[memory]" for event in events)


def test_manifest_names_the_target_and_the_machine(run: Captured) -> None:
    assert run.manifest["complete"]
    assert run.manifest["target"]["kind"] == "module"
    assert run.manifest["target"]["name"] == "Net"
    assert "script.py:" in run.manifest["target"]["where"]
    assert run.manifest["environment"]["torch"].startswith("2.")
    assert not (run.path / ".work").exists()
