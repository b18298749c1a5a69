"""What repeats in a script: found by watching it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from capture.discover import Discovery, OptimizerSteps
from capture.job import Target


def discovered(run: Callable[[], object], target: Target | None = None) -> list[tuple[nn.Module, Target, int]]:
    found: list[tuple[nn.Module, Target, int]] = []
    optimizers = OptimizerSteps()
    optimizers.start()
    discovery = Discovery(target or Target(), optimizers, lambda *what: found.append(what))
    try:
        run()
    finally:
        discovery.stop()
        optimizers.stop()
    assert nn.Linear(1, 1)._compiled_call_impl is None
    return found


def test_largest_repeated_module_is_found_not_the_loss_or_a_transform() -> None:
    flip, model, loss = nn.Flatten(0), nn.Linear(4, 4), nn.MSELoss()

    def run() -> None:
        for _ in range(5):
            for _ in range(3):
                flip(torch.ones(1))
            loss(model(torch.ones(4)).detach(), torch.ones(4))

    (module, target, calls), *rest = discovered(run)
    assert rest == []
    assert (module is model, target.ordinal, target.training, calls) == (True, 1, False, 3)


def test_a_kept_call_is_found_once() -> None:
    model = nn.Linear(1, 1)

    def run() -> None:
        kept = model.__call__
        for _ in range(9):
            kept(torch.ones(1))

    assert len(discovered(run)) == 1


def test_training_is_told_by_the_optimizer() -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run() -> None:
        for _ in range(12):
            model(torch.ones(4)).sum().backward()
            if model.weight.grad is not None and _ % 4 == 3:
                optimizer.step()

    (module, target, calls), *_ = discovered(run)
    assert (module is model, target.training, calls) == (True, True, 8)


def test_training_is_told_by_an_optimizer_that_calls_the_model_itself() -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, lr=0.1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(4)).square().sum()
        loss.backward()
        return loss

    (module, target, _), *_ = discovered(lambda: [optimizer.step(closure) for _ in range(9)])
    assert (module is model, target.training) == (True, True)


def test_a_module_is_taken_once_it_has_its_parameters() -> None:
    model = nn.Sequential(nn.LazyLinear(2))
    (module, target, calls), *_ = discovered(lambda: [model(torch.ones(1, 3)).detach() for _ in range(9)])
    assert (module is model, target.ordinal, calls) == (True, 0, 3)
    assert discovered(lambda: model(torch.ones(1, 3)), Target(ordinal=0, training=False))[0][0] is model


def test_known_target_is_taken_at_its_first_call() -> None:
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    found = discovered(lambda: (first(torch.ones(1)), second(torch.ones(1))), Target(ordinal=1, training=False))
    assert [(module is second, calls) for module, _, calls in found] == [(True, 0)]
