"""The compiler sees nothing of the recording: as many graphs, breaks and compilations as without it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from capture.job import Job, Plan, Target
from capture.region import StopScript
from capture.result import Result
from capture.session import Session
from tests.capture.conftest import Workshop

pytestmark = pytest.mark.filterwarnings("default")
COMPILE: Any = torch.compile  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
STEPS = 24
TRAINING = Target(ordinal=0, training=True)


class Nudge(torch.optim.Optimizer):
    """An optimizer of the script's own, all of whose Python the compiler traces."""

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(parameter.grad.sign(), alpha=-group["lr"])


class Again(nn.Module):
    """Calls itself once more from within."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, deeper: bool = True) -> torch.Tensor:
        return self(x, False) if deeper else self.inner(x)


@dataclass
class Loop:
    """A training or inference loop; what is compiled of it is up to the test."""

    model: nn.Module = field(default_factory=lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)))
    optimizer: Callable[[Any], Any] = Nudge

    def __post_init__(self) -> None:
        self.chosen = self.optimizer(self.model.parameters())

    def train(self, x: torch.Tensor) -> torch.Tensor:
        self.chosen.zero_grad()
        loss = self.model(x).square().mean()
        loss.backward()
        self.chosen.step()
        return loss

    def infer(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self.model(x)


def repeat(step: Callable[[torch.Tensor], object]) -> None:
    for number in range(STEPS):
        step(torch.full((2, 4), float(number)))


@pytest.fixture(autouse=True)
def fast_compiler(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Trace as ever, but generate no code."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: COMPILE(function, backend="eager"))
    yield
    torch.compiler.reset()


def compilations(run: Callable[[], object]) -> dict[str, Any]:
    """Return what the compiler counts while something runs, and the functions it compiles, each as often as it does."""
    compiler = importlib.import_module("torch._dynamo.utils")
    torch.compiler.reset()
    compiler.counters.clear()
    compiler.clear_compilation_metrics()
    torch.manual_seed(0)
    run()
    counted = {kind: dict(compiler.counters[kind]) for kind in ("stats", "graph_break", "recompile_limit")}
    return {**counted, "compiled": [row.co_name for row in compiler.get_compilation_metrics()]}


def recorded(folder: Path, form: str, target: Target, script: Callable[[Session], object]) -> Result:
    job = Job(form, None, "", False, (), folder, folder / "outputs.pt", "r", Plan(4, 7, 1, 1, longer=False), target)
    result = Result(job)
    session = Session(result)
    try:
        with suppress(StopScript):
            script(session)
    finally:
        session.stop()
    return result


def optimizers() -> list[Callable[[Any], Any]]:
    return [Nudge, lambda parameters: torch.optim.AdamW(parameters, foreach=True)]


@pytest.mark.parametrize("optimizer", optimizers(), ids=["custom", "AdamW"])
def test_a_compiled_step_with_its_optimizer(optimizer: Callable[[Any], Any], tmp_path: Path) -> None:
    plain = compilations(lambda: repeat(torch.compile(Loop(optimizer=optimizer).train)))
    named = Target(function="train")
    found = compilations(
        lambda: recorded(tmp_path, "compile", named, lambda s: repeat(s.decorate(Loop(optimizer=optimizer).train)))
    )
    assert found == plain
    assert plain["stats"]["unique_graphs"]


def test_a_compiled_module_in_a_training_loop(tmp_path: Path) -> None:
    def plain() -> None:
        loop = Loop()
        loop.model.forward = torch.compile(loop.model.forward)
        repeat(loop.train)

    found = compilations(lambda: recorded(tmp_path, "compile", TRAINING, lambda _: repeat(Loop().train)))
    assert found == compilations(plain)
    assert found["stats"]["unique_graphs"] == 1


def test_a_compiled_module_that_calls_itself(tmp_path: Path) -> None:
    named = Target(module="Again")
    plain = compilations(lambda: repeat(torch.compile(Loop(Again()).infer)))
    found = compilations(lambda: recorded(tmp_path, "compile", named, lambda _: repeat(Loop(Again()).infer)))
    assert (found["stats"]["unique_graphs"], found["graph_break"]) == (1, {})
    assert plain["stats"]["unique_graphs"] == 1


def compiles_its_model(loop: Loop) -> Callable[[torch.Tensor], object]:
    loop.model = torch.compile(loop.model)
    return loop.train


def compiles_its_model_in_place(loop: Loop) -> Callable[[torch.Tensor], object]:
    loop.model.compile()
    return loop.train


def compiles_its_optimizer(loop: Loop) -> Callable[[torch.Tensor], object]:
    loop.chosen.step = torch.compile(loop.chosen.step)
    return loop.train


def compiles_its_step(loop: Loop) -> Callable[[torch.Tensor], object]:
    return torch.compile(loop.train)


COMPILING = [compiles_its_model, compiles_its_model_in_place, compiles_its_optimizer, compiles_its_step]


@pytest.mark.parametrize("prepared", COMPILING)
@pytest.mark.parametrize("target", [Target(), TRAINING], ids=["searching", "found"])
def test_a_script_that_compiles_itself(
    prepared: Callable[[Loop], Callable[[torch.Tensor], object]], target: Target, tmp_path: Path
) -> None:
    plain = compilations(lambda: repeat(prepared(Loop())))
    found = compilations(lambda: recorded(tmp_path, "eager", target, lambda _: repeat(prepared(Loop()))))
    assert found == plain


def test_a_named_function_that_the_script_compiles(tmp_path: Path) -> None:
    results: list[Result] = []
    plain = compilations(lambda: repeat(torch.compile(Loop().train)))

    def script(session: Session) -> None:
        repeat(torch.compile(session.decorate(Loop().train)))

    found = compilations(lambda: results.append(recorded(tmp_path, "eager", Target(function="train"), script)))
    assert found == plain
    assert results[0].recorder is not None
    assert results[0].recorder.step > 4, "its calls are steps all the same"


OWN_COMPILE = """
    import json

    import capture
    import torch
    from torch import nn
    from torch._dynamo import utils

    model = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.step = torch.compile(optimizer.step, backend="eager")
    for _ in range(120):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    counts = {kind: dict(utils.counters[kind]) for kind in ("stats", "graph_break")}
    compiled = [row.co_name for row in utils.get_compilation_metrics()]
    print(json.dumps([counts, compiled, utils.unpatched_nn_module_call is nn.Module.__call__]))
"""


def test_a_script_that_compiles_itself_beside_a_module_of_the_same_name(workshop: Workshop) -> None:
    script = workshop.write(OWN_COMPILE)
    workshop.write("", "capture.py")
    plain = workshop.python(script.name)
    words = ("--forms", "eager", "--to-end", "--warmup", "6", "--measure", "12", "--active", "2")
    run = workshop.capture(*words, script.name)
    assert run.code == 0, run.stderr
    assert json.loads(run.stdout) == json.loads(plain)
