"""Scripts as they come: each behaves as it would under plain Python."""

from __future__ import annotations

import json
import os
import signal
import socket
import time

import pytest

from tests.capture.conftest import Workshop

STEPS = """
    def train_step(model, optimizer, x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
"""
TRAIN = """
    import os
    import sys

    assert "torch" not in sys.modules
    os.environ["OMP_NUM_THREADS"] = "2"

    import torch
    from steps import train_step
    from torch import nn


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
        if sys.argv[1] == "hangs":
            time.sleep(1000)
        return torch.empty(1 << 60)


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            if torch.compiler.is_compiling():
                misbehave()
            elif len(sys.argv) > 2 and x[0] == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            return x


    net = Net()
    with torch.no_grad():
        for step in range(100):
            net(torch.full((3,), step))
"""
FEW = ("--warmup", "6", "--measure", "6", "--active", "1")


def test_training_steps_run_from_one_optimizer_step_to_the_next_and_phases_shrink_to_a_short_script(
    workshop: Workshop,
) -> None:
    workshop.write(TRAIN)
    workshop.write(STEPS, "steps.py")
    run = workshop.capture("--forms", "eager", "script.py", "12")
    assert run.code == 0, run.stderr
    assert run.manifest["target"]["kind"] == "training_step"
    assert run.manifest["target"]["name"].endswith("Sequential"), "the model, not the loss"
    assert "only 12 whole steps" in run.stderr
    form = run.form("eager")
    assert form["step_ms"] is not None
    assert 1 <= form["steps"] < 12
    assert form["trace"] is not None


def test_function_of_an_imported_file_is_the_whole_step_and_settings_before_torch_count(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    path = workshop.write(STEPS, "steps.py")
    run = workshop.capture("--forms", "eager", *FEW, "--function", "train_step", "--to-end", "script.py", "30")
    assert run.code == 0, run.stderr
    assert run.manifest["target"] == {"kind": "function", "name": "train_step", "where": f"{path}:2"}
    assert run.form("eager")["steps"] == 6
    assert run.manifest["environment"]["cpu_threads"] == min(2, os.cpu_count() or 1)
    assert "finished" in run.stdout


def test_unknown_function_lists_the_known_ones(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    run = workshop.capture("--function", "step", "script.py")
    assert run.code == 2
    assert "it has main" in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_module_by_name_in_a_package_run_with_m_whose_workers_find_its_own_capture(workshop: Workshop) -> None:
    workshop.write("def double(x):\n    return 2 * x\n", "capture/__init__.py")
    workshop.write("", "package/__init__.py")
    workshop.write("from torch import nn\nclass Net(nn.Sequential): pass\n", "package/net.py")
    workshop.write(
        """
        import multiprocessing
        import sys
        from capture import double

        if __name__ == "__main__":
            import torch
            from torch import nn
            from package.net import Net
            from capture import double as again

            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print("doubled", pool.map(double, [1, 2]), again is double)
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
    assert "doubled [2, 4] True" in run.stdout
    assert run.manifest["target"]["name"].endswith("Linear")


def test_a_script_that_compiles_itself_is_noted(workshop: Workshop) -> None:
    workshop.write(
        """
        import torch
        from torch import nn

        net = torch.compile(nn.Linear(2, 2), backend="eager")
        for _ in range(40):
            net(torch.ones(2))
        """
    )
    run = workshop.capture("--forms", "eager", *FEW, "script.py")
    assert run.code == 0, run.stderr
    assert run.form("eager")["notes"] == [
        "the script calls torch.compile itself (1 compiler graph): its eager form is compiled already"
    ]


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


def test_a_death_in_one_form_and_a_hang_in_another_cost_only_these(workshop: Workshop) -> None:
    workshop.write(MISBEHAVES_COMPILED)
    run = workshop.capture("--forms", "eager,compile,replay", "--timeout", "30", *FEW, "script.py", "hangs", "8")
    assert run.code == 0, run.stderr
    assert run.manifest["complete"]
    assert run.form("eager")["error"] == "killed by signal 9"
    assert "did not end within 30 s (while warming up)" in run.form("compile")["error"]
    assert run.form("replay")["blockers"][0]["id"] == "no_cuda"


def test_lack_of_memory_in_one_form_is_its_result(workshop: Workshop) -> None:
    path = workshop.write(MISBEHAVES_COMPILED)
    run = workshop.capture("--forms", "eager,compile", *FEW, "script.py", "fills")
    assert run.code == 0, run.stderr
    blocker = run.form("compile")["blockers"][0]
    assert blocker["id"] == "memory"
    assert blocker["where"] == f"{path}:15"


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
    assert "two eager runs from parameters one rounding apart differ" in form["outputs_note"]


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
    workshop.write("print('nothing')\n")
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


RANKS = """
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        model(torch.randn(8, 4)).sum().backward()
        optimizer.step()
"""


def test_ranks_of_one_job_keep_step_and_leave_files_of_their_own(workshop: Workshop) -> None:
    workshop.write(RANKS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1] - 1)}
    ranks = [workshop.start("--forms", "eager", *FEW, "script.py", RANK=str(rank), **job) for rank in range(2)]
    for rank, process in enumerate(ranks):
        _, stderr = process.communicate(timeout=200)
        assert process.returncode == 0, stderr
        manifest = json.loads((workshop.path / f"run.rank{rank}.json").read_text())
        assert manifest["complete"]
        assert (manifest["environment"]["rank"], manifest["environment"]["world_size"]) == (rank, 2)
        assert manifest["target"]["name"] == "torch.nn.modules.linear.Linear", "what is wrapped, not the wrapper"
        assert manifest["forms"]["eager"]["steps"] == 6
        assert (workshop.path / manifest["forms"]["eager"]["trace"]).is_file()
    assert len(list(workshop.path.iterdir())) == 4
