"""Scripts as they come: each behaves as it would under plain Python."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from tests.capture.conftest import Captured, Workshop

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
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(steps):
            train_step(model, optimizer, torch.randn(8, 4))
        print("finished")


    if __name__ == "__main__":
        main(int(sys.argv[1]))
"""
FEW = ("--warmup", "6", "--measure", "6", "--active", "1")


@pytest.fixture(scope="module")
def interrupted(shared_workshop: Workshop) -> Captured:
    """A run of which Ctrl-C let only eager finish."""
    shared_workshop.write(TRAIN)
    shared_workshop.write(STEPS, "steps.py")
    words = ("--forms", "eager,compile", *FEW, "--function", "train_step", "--to-end", "script.py", "30")
    process = shared_workshop.start(*words)
    deadline = time.monotonic() + 120
    while not (shared_workshop.path / "compile.log").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    return Captured(process.returncode, stdout, stderr, shared_workshop.path)


def test_interrupt_leaves_what_was_finished(interrupted: Captured) -> None:
    assert interrupted.code == 130
    assert "interrupted" in interrupted.stderr
    assert not interrupted.manifest["complete"]
    assert interrupted.form("eager")["trace"] == "eager.pt.trace.json.gz"
    assert interrupted.trace("eager")["tracelens"]["form"] == "eager"


PARENT = """
    import subprocess
    import sys
    import time
    from pathlib import Path

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    Path("child").write_text(str(child.pid))
    time.sleep(300)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of processes in files")
@pytest.mark.parametrize("ending", ["SIGHUP", "SIGTERM"])
def test_what_ends_the_command_ends_all_that_the_script_started(ending: str, workshop: Workshop) -> None:
    workshop.write(PARENT)
    process = workshop.start("--forms", "eager", "script.py")
    child, deadline = workshop.folder / "child", time.monotonic() + 60
    while not (child.exists() and child.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(getattr(signal, ending))
    process.communicate(timeout=60)
    assert process.returncode == 130
    while is_running(int(child.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(int(child.read_text()))


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody waits for stays as a name."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_function_of_an_imported_file_is_the_whole_step_and_settings_before_torch_count(interrupted: Captured) -> None:
    file = interrupted.path.parent / "steps.py"
    assert interrupted.manifest["target"] == {"kind": "function", "name": "train_step", "where": f"{file}:2"}
    assert interrupted.form("eager")["steps"] == 6
    assert interrupted.manifest["environment"]["cpu_threads"] == min(2, os.cpu_count() or 1)
    assert "finished" in interrupted.stdout


def test_unknown_function_lists_the_known_ones(workshop: Workshop) -> None:
    workshop.write(TRAIN)
    run = workshop.capture("--function", "step", "script.py")
    assert run.code == 2
    assert "it has main" in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """A package run with -m that makes few steps, compiles something itself and spawns a worker."""
    workshop = Workshop(tmp_path_factory.mktemp("package"))
    workshop.write("def double(x):\n    return 2 * x\n", "capture/__init__.py")
    workshop.write("", "package/__init__.py")
    workshop.write("from torch import nn\nclass Net(nn.Sequential): pass\n", "package/net.py")
    workshop.write(PACKAGE, "package/__main__.py")
    return workshop.capture("--forms", "eager", "--module", "model.1", "-m", "package", "x")


PACKAGE = """
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
        torch.compile(model[0], backend="eager")(torch.ones(2))
        print(__name__, __package__, sys.argv[1:])
        for _ in range(13):
            model(torch.ones(2))
"""


def test_module_by_name_in_a_package_whose_workers_find_its_own_capture(package: Captured) -> None:
    assert package.code == 0, package.stderr
    assert "__main__ package ['x']" in package.stdout
    assert "doubled [2, 4] True" in package.stdout
    assert package.manifest["target"]["name"].endswith("Linear")


def test_phases_shrink_to_a_short_script_and_say_so(package: Captured) -> None:
    assert "only 12 whole steps" in package.stderr
    form = package.form("eager")
    assert "the script makes only 12 whole steps: every phase took fewer than planned" in form["notes"]
    assert form["step_ms"] is not None
    assert form["trace"] is not None
    assert form["warmup_steps"] + form["steps"] + form["traced_steps"] < 12


def test_a_script_that_compiles_itself_is_noted(package: Captured) -> None:
    assert (
        "the script calls torch.compile itself (1 compiler graph): its eager form is compiled already"
        in package.form("eager")["notes"]
    )


MISBEHAVES = """
    import sys
    import time

    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            if torch.compiler.is_compiling():
                wait()
            elif "fills" in sys.argv and x[0] == 8:
                return torch.empty(1 << 60)
            return x


    @torch.compiler.disable
    def wait():
        time.sleep(1000)


    net = Net()
    with torch.no_grad():
        for step in range(100):
            net(torch.full((3,), step))
"""


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


def test_a_death_ends_the_command_as_a_shell_would_show_it(workshop: Workshop) -> None:
    workshop.write("import os\nos.kill(os.getpid(), 9)\n")
    run = workshop.capture("script.py")
    assert run.code == 128 + 9
    assert run.form("eager")["error"] == "killed by signal 9"


def test_a_script_that_ends_itself_is_told_so(workshop: Workshop) -> None:
    workshop.write("import os\nos._exit(0)\n")
    run = workshop.capture("script.py")
    assert run.code == 2
    assert "the script ended itself" in run.form("eager")["error"]


def test_a_script_that_removes_the_run_directory_is_told_so(workshop: Workshop) -> None:
    workshop.write("import shutil, sys\nshutil.rmtree(sys.argv[1])\n")
    run = workshop.capture("script.py", str(workshop.path))
    assert run.code == 2
    assert run.stderr.splitlines()[-1].endswith("any more; the script must leave it alone")
    assert "Traceback" not in run.stderr


def test_what_a_script_raises_colours_no_line(workshop: Workshop) -> None:
    workshop.write("raise ValueError('boom \\x1b[31m')\n")
    line = workshop.capture("script.py").stderr.splitlines()[-1]
    assert line == "eager: ValueError: boom \\x1b[31m"


def test_lack_of_memory_in_one_form_and_a_hang_in_another_cost_only_these(workshop: Workshop) -> None:
    path = workshop.write(MISBEHAVES)
    run = workshop.capture("--forms", "eager,compile,replay", "--timeout", "45", *FEW, "script.py", "fills")
    assert run.code == 1, run.stderr
    assert run.manifest["complete"]
    blocker = run.form("eager")["blockers"][0]
    assert (blocker["id"], blocker["where"]) == ("memory", f"{path}:18")
    assert "did not end within 45 s (while " in run.form("compile")["error"]
    assert run.form("replay")["blockers"][0]["id"] == "no_cuda"


DIFFERS = """
    import os

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
            noise = int.from_bytes(os.urandom(1)) / 1e5
            net(torch.full((min(3 + step, 5),), step + noise))
"""


def test_other_outputs_than_eagers_are_reported_beside_the_noise_of_two_eager_runs(workshop: Workshop) -> None:
    path = workshop.write(DIFFERS)
    run = workshop.capture("--forms", "eager,compile", "--no-dynamic", *FEW, "script.py")
    assert run.code == 0, run.stderr
    form = run.form("compile")
    assert form["outputs"] == "differ"
    assert form["largest_error"] == pytest.approx(1 / 4, rel=0.01)
    noise = float(form["outputs_note"].split("differ by ")[1].split()[0])
    assert 0 < noise < 10, form["outputs_note"]
    assert run.trace("compile")["tracelens"]["outputs"] == "differ"
    assert form["graph_breaks"][0]["where"] == f"{path}:20"
    assert [row["where"] for row in form["recompiles"]] == [f"{path}:18"] * 2
    assert "size mismatch" in form["recompiles"][0]["guard"]


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
        assert manifest["target"]["kind"] == "training_step"
        assert manifest["target"]["name"] == "torch.nn.modules.linear.Linear", "what is wrapped, not the wrapper"
        assert manifest["forms"]["eager"]["steps"] == 6
        assert (workshop.path / manifest["forms"]["eager"]["trace"]).is_file()
    assert len(list(workshop.path.iterdir())) == 4


def test_a_script_may_remove_the_directory_that_it_works_in(workshop: Workshop) -> None:
    workshop.write(
        """
        import os, tempfile, torch
        model = torch.nn.Linear(8, 8)
        gone = tempfile.mkdtemp()
        os.chdir(gone)
        os.rmdir(gone)
        for _ in range(60):
            model(torch.randn(2, 8))
        try:
            print("in", os.getcwd())
        except FileNotFoundError:
            print("still nowhere")
        """
    )
    run = workshop.capture("--forms", "eager", "script.py")
    assert run.code == 0, run.stderr
    assert "still nowhere" in run.stdout
    assert run.form("eager")["trace"] == "eager.pt.trace.json.gz"
