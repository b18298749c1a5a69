"""Replay and both on a CUDA device: the same answers as eager, and a right reason where they cannot run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from capture.failure import Blocked
from capture.forms.both import CompiledReplay, ReduceOverhead
from capture.forms.replay import Replay
from capture.records import FormRecord
from tests.capture.conftest import Workshop

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("default"),
]


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, device="cuda")


def test_replay_follows_its_inputs() -> None:
    form = Replay(lambda x: x.sin() * 2, None, 8)
    for step in range(8):
        x = torch.full((4,), float(step), device="cuda")
        torch.testing.assert_close(form(x), x.sin() * 2)
    record = FormRecord()
    form.report(record)
    assert record.cuda_graphs == 1


def test_kept_outputs_are_copied() -> None:
    form = Replay(lambda x: x + 1, None, 8)
    kept = [form(torch.full((4,), float(step), device="cuda"))[:2] for step in range(8)]
    assert [row[0].item() for row in kept] == [step + 1 for step in range(8)]
    record = FormRecord()
    form.report(record)
    assert record.copied_outputs == 1


def test_dropped_outputs_are_not_copied() -> None:
    form = Replay(lambda x: x + 1, None, 8)
    for step in range(8):
        form(torch.full((4,), float(step), device="cuda"))
    record = FormRecord()
    form.report(record)
    assert record.copied_outputs == 0


def test_inputs_that_are_written_to_are_written_to() -> None:
    form = Replay(lambda x, total: total.add_(x), None, 8)
    total = torch.zeros(3, device="cuda")
    for _ in range(8):
        form(ones(3), total)
    assert total.tolist() == [8.0] * 3
    fresh = [torch.zeros(3, device="cuda") for _ in range(3)]
    for other in fresh:
        form(ones(3), other)
    assert [other.tolist() for other in fresh] == [[1.0] * 3] * 3
    assert total.tolist() == [8.0] * 3, "a buffer of the graph is never the script's own tensor"


def test_other_shapes_get_graphs_of_their_own_and_never_broadcast() -> None:
    form = Replay(lambda x: x * 2, None, 2)
    for _ in range(6):
        assert form(ones(4)).shape == (4,)
        assert form(ones(1)).shape == (1,)
    with pytest.raises(Blocked, match="signatures"):
        form(ones(4).double())


def test_host_inputs_are_refused() -> None:
    with pytest.raises(Blocked, match="input 0 of shape"):
        Replay(lambda x: x.cuda() * 2, None, 8)(torch.ones(3))


@pytest.mark.parametrize("kind", ["replay", "manual"])
def test_training_replays_forward_and_backward(kind: str) -> None:
    def train(graphed: bool) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.0), nn.Linear(8, 2)).cuda()
        form = Replay(model.forward, model, 8) if kind == "replay" else CompiledReplay(model.forward, model, None, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(10):
            x = torch.randn(16, 8, device="cuda")
            optimizer.zero_grad()
            loss = (form if graphed else model)(x).square().mean()
            loss.backward()
            optimizer.step()
        return {name: value.clone() for name, value in model.state_dict().items()}

    expected, found = train(False), train(True)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-5, msg=name)


def test_random_numbers_of_a_replay_are_eagers() -> None:
    def run(graphed: bool) -> list[float]:
        torch.manual_seed(0)
        form = Replay(lambda x: nn.functional.dropout(x, 0.5), None, 8)
        return [((form if graphed else form._function)(ones(64))).sum().item() for _ in range(8)]

    assert run(True) == run(False)


def test_reduce_overhead_outputs_may_be_kept() -> None:
    form = ReduceOverhead(lambda x: (x + 1).relu() * 2, None)
    kept = [form(torch.full((4,), float(step), device="cuda")) for step in range(8)]
    assert [row[0].item() for row in kept] == [2.0 * (step + 1) for step in range(8)]


SYNCS = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x):
            x = self.inner(x)
            if x.abs().max().item() > 100:
                x = x / 2
            return x.sin()


    net = Net().cuda().eval()
    with torch.no_grad():
        for _ in range(200):
            net(torch.randn(4, 8, device="cuda"))
"""


def test_all_four_forms_of_a_script_that_waits(workshop: Workshop) -> None:
    path = workshop.write(SYNCS)
    run = workshop.capture("script.py")
    assert run.code == 0, run.stderr
    blocker = run.form("replay")["blockers"][0]
    assert blocker["id"] == "sync"
    assert blocker["where"] == f"{path}:13"
    assert run.form("eager")["syncs"][0]["where"] == f"{path}:13"
    assert run.form("compile")["graph_breaks"][0]["where"] == f"{path}:13"
    assert run.form("both")["variant"] == "reduce-overhead"
    assert run.form("both")["step_ms"] is not None
    kernels = [event for event in run.trace("both")["traceEvents"] if event.get("cat") == "kernel"]
    assert kernels


OWN_GRAPH = """
    import torch
    from torch import nn

    model = nn.Linear(8, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(4, 8, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            optimizer.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    before = model.weight.clone()
    for _ in range(100):
        graph.replay()
    print("changed", not torch.equal(before, model.weight))
"""


def test_a_script_with_a_graph_of_its_own_is_not_disturbed(workshop: Workshop) -> None:
    workshop.write(OWN_GRAPH)
    run = workshop.capture("--forms", "eager", "--to-end", "script.py")
    assert run.code == 0, run.stderr
    assert "changed True" in run.stdout
    assert "captures a CUDA graph itself" in run.form("eager")["notes"][0]
