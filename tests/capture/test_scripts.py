"""Scripts as they come: each behaves as it would under plain Python."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.capture.conftest import Workshop

TRAIN = """
    import sys

    import torch
    from torch import nn


    def train_step(model, optimizer, x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss


    def main(steps):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        criterion = nn.MSELoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(steps):
            train_step(model, optimizer, torch.randn(8, 4))
            criterion(torch.zeros(1), torch.zeros(1))
        print("finished")


    if __name__ == "__main__":
        main(int(sys.argv[1]))
"""

MISBEHAVES_COMPILED = """
    import os
    import signal
    import sys
    import time

    import torch
    from torch import nn


    @torch.compiler.disable
    def misbehave():
        kind = sys.argv[1]
        if kind == "hangs":
            time.sleep(1000)
        if kind == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.empty(1 << 60)


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            if torch.compiler.is_compiling():
                misbehave()
            return x


    net = Net()
    with torch.no_grad():
        for _ in range(100):
            net(torch.ones(3))
"""
FEW = ("--warmup", "6", "--measure", "6", "--active", "1")


def test_training_steps_run_from_one_optimizer_step_to_the_next(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    run = workshop.capture("--forms", "eager", *FEW, "script.py", "60")
    assert run.code == 0, run.stderr
    assert run.manifest["target"]["kind"] == "training_step"
    assert run.manifest["target"]["name"].endswith("Sequential"), "the model, not the loss"
    assert run.form("eager")["steps"] == 6


def test_phases_shrink_to_a_short_script_and_say_so(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    run = workshop.capture("--forms", "eager", "script.py", "12")
    assert run.code == 0, run.stderr
    assert "only 12 whole steps" in run.stderr
    form = run.form("eager")
    assert form["step_ms"] is not None
    assert 1 <= form["steps"] < 12
    assert form["trace"] is not None


def test_function_is_the_whole_step(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    run = workshop.capture("--forms", "eager", *FEW, "--function", "train_step", "--to-end", "script.py", "30")
    assert run.code == 0, run.stderr
    assert run.manifest["target"]["kind"] == "function"
    assert run.manifest["target"]["name"] == "train_step"
    assert "finished" in run.stdout


def test_unknown_function_lists_the_known_ones(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    run = workshop.capture("--function", "step", "script.py")
    assert run.code == 2
    assert "main, train_step" in run.stderr


def test_module_by_name_in_a_package_run_with_m(workshop: Workshop) -> None:
    workshop.write("", "package/__init__.py")
    workshop.write("from torch import nn\nclass Net(nn.Sequential): pass\n", "package/net.py")
    workshop.write(
        """
        import sys, torch
        from torch import nn
        from package.net import Net
        model = Net(nn.Linear(2, 2), nn.Linear(2, 2))
        print(__name__, __package__, sys.argv[1:])
        for _ in range(40):
            model(torch.ones(2))
        """,
        "package/__main__.py",
    )
    run = workshop.capture("--forms", "eager", *FEW, "--module", "model.1", "-m", "package", "x")
    assert run.code == 0, run.stderr
    assert "__main__ package ['x']" in run.stdout
    assert run.manifest["target"]["name"].endswith("Linear")


def test_raising_script_ends_as_under_python(workshop: Workshop) -> None:
    path = workshop.write("def inner():\n    raise ValueError('no such luck')\n\n\ninner()\n")
    run = workshop.capture("script.py")
    assert run.code == 1
    lines = [line for line in run.stderr.splitlines() if line.lstrip().startswith(("File", "ValueError"))]
    assert lines == [
        f'  File "{path}", line 5, in <module>',
        f'  File "{path}", line 2, in inner',
        "ValueError: no such luck",
    ]
    assert "no such luck" in run.form("eager")["error"]
    assert list(run.manifest["forms"]) == ["eager"]


def test_early_exit_keeps_its_code_and_message(workshop: Workshop) -> None:
    workshop.write("import sys\nprint('so far')\nsys.exit('enough')\n")
    run = workshop.capture("script.py")
    assert run.code == 1
    assert "so far" in run.stdout
    assert "enough" in run.stderr.splitlines()


def test_spawned_workers_find_the_scripts_own_capture(workshop: Workshop) -> None:
    workshop.write("def double(x):\n    return 2 * x\n", "capture/__init__.py")
    workshop.write(
        """
        import multiprocessing
        import torch
        from torch import nn
        from capture import double

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print("doubled", pool.map(double, [1, 2]))
            net = nn.Linear(2, 2)
            for _ in range(40):
                net(torch.ones(2))
        """
    )
    run = workshop.capture("--forms", "eager", *FEW, "script.py")
    assert run.code == 0, run.stderr
    assert "doubled [2, 4]" in run.stdout


def test_hang_in_one_form_costs_only_that_form(workshop: Workshop) -> None:
    workshop.write(MISBEHAVES_COMPILED)
    run = workshop.capture("--forms", "eager,compile", "--timeout", "30", *FEW, "script.py", "hangs")
    assert run.code == 0, run.stderr
    assert run.form("eager")["step_ms"] is not None
    assert "did not end within 30 s (while warming up)" in run.form("compile")["error"]


def test_lack_of_memory_in_one_form_is_its_result(workshop: Workshop) -> None:
    path = workshop.write(MISBEHAVES_COMPILED)
    run = workshop.capture("--forms", "eager,compile", *FEW, "script.py", "fills")
    assert run.code == 0, run.stderr
    blocker = run.form("compile")["blockers"][0]
    assert blocker["id"] == "memory"
    assert blocker["where"] == f"{path}:18"


def test_death_of_one_form_is_its_result(workshop: Workshop) -> None:
    workshop.write(MISBEHAVES_COMPILED)
    run = workshop.capture("--forms", "eager,compile", *FEW, "script.py", "dies")
    assert run.code == 0, run.stderr
    assert run.form("compile")["error"] == "killed by signal 9"


DIFFERS = """
    import os
    import sys

    import torch
    from torch import nn


    @torch.compiler.disable
    def add_one(x):
        return x + 1


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            if torch.compiler.is_compiling():
                return add_one(x)
            return x


    net = Net()
    with torch.no_grad():
        for step in range(100):
            noise = int.from_bytes(os.urandom(1)) if sys.argv[1] == "noisy" else 0.0
            net(torch.full((3,), step + noise))
"""


def test_other_outputs_than_eagers_are_reported(workshop: Workshop) -> None:
    workshop.write(DIFFERS)
    run = workshop.capture("--forms", "eager,compile", *FEW, "script.py", "exact")
    assert run.code == 0, run.stderr
    form = run.form("compile")
    assert form["outputs"] == "differ"
    assert form["largest_error"] == pytest.approx(1 / 4)
    assert run.trace("compile")["tracelens"]["outputs"] == "differ"


def test_two_eager_runs_set_the_noise_that_is_allowed(workshop: Workshop) -> None:
    workshop.write(DIFFERS)
    run = workshop.capture("--forms", "eager,compile", *FEW, "script.py", "noisy")
    assert run.code == 0, run.stderr
    form = run.form("compile")
    assert form["outputs"] == "match"
    assert "two eager runs differ" in form["outputs_note"]


def test_interrupt_leaves_what_was_finished(workshop: Workshop) -> None:
    workshop.write(MISBEHAVES_COMPILED)
    process = workshop.start("--forms", "eager,compile", *FEW, "script.py", "hangs")
    deadline = time.monotonic() + 120
    while not (workshop.path / "compile.log").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in stderr

    manifest = json.loads((workshop.path / "run.json").read_text())
    assert not manifest["complete"]
    assert manifest["forms"]["eager"]["trace"] == "eager.pt.trace.json.gz"
    assert (workshop.path / "eager.pt.trace.json.gz").exists()


def test_nothing_repeats_and_an_earlier_run_is_replaced_only_by_force(workshop: Workshop) -> None:
    workshop.write("import torch\n")
    nothing = workshop.capture("--forms", "eager", "script.py")
    assert nothing.code == 2
    assert "--function" in nothing.form("eager")["error"]
    assert "Traceback" not in nothing.stderr
    keep = workshop.path / "notes.txt"
    keep.write_text("mine")
    refused = workshop.capture("--forms", "eager", "script.py")
    assert refused.code == 2
    assert "--force" in refused.stderr
    first = refused.manifest["run"]
    again = workshop.capture("--forms", "eager", "--force", "script.py")
    assert again.manifest["run"] != first
    assert keep.read_text() == "mine"


def test_folder_without_a_run_is_left_alone(workshop: Workshop) -> None:
    workshop.write("import torch\n")
    workshop.write("mine", "run/notes.txt")
    run = workshop.capture("--force", "script.py")
    assert run.code == 2
    assert "holds no run" in run.stderr
