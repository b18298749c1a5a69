"""What a workload is, and where they are found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import nn

Inputs = tuple[torch.Tensor, ...]
Step = Callable[..., Any]
Parameters = Iterable[nn.Parameter]
Split = Literal[
    "calibration",
    "validation",
    "unseen",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twenty_first",
    "twenty_second",
]

ON_GPU: Final = torch.cuda.is_available()
DEVICE: Final = "cuda" if ON_GPU else "cpu"
BATCHES: Final = 4
"""Batches that a workload rotates through."""


@dataclass(frozen=True)
class Work:
    """A step and the batches that it is called with in turn."""

    step: Step
    batches: list[Inputs]


@dataclass(frozen=True)
class Workload:
    """How to build a work, and what it is for."""

    build: Callable[[], Work]
    split: Split
    traits: frozenset[str]
    """Of "training", "streams" (several) and "blocked" (a capture of the whole step cannot work)."""


WORKLOADS: Final[dict[str, Workload]] = {}


def workload(split: Split, *traits: str) -> Callable[[Callable[[], Work]], Callable[[], Work]]:
    """Register a builder under its function's name."""

    def register(build: Callable[[], Work]) -> Callable[[], Work]:
        WORKLOADS[build.__name__] = Workload(build, split, frozenset(traits))
        return build

    return register


def batches(make: Callable[[], Inputs], count: int = BATCHES) -> list[Inputs]:
    """Fresh batches."""
    return [make() for _ in range(count)]


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Random numbers on the device."""
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def integers(high: int, *shape: int) -> torch.Tensor:
    """Random indices below `high` on the device."""
    return torch.randint(0, high, shape, device=DEVICE)


def inference(model: nn.Module, dtype: torch.dtype = torch.float32) -> Step:
    """The model's forward pass without gradients."""
    ready = model.to(DEVICE, dtype).eval()

    def step(*inputs: torch.Tensor) -> object:
        with torch.no_grad():
            return ready(*inputs)

    return step


def training(
    model: nn.Module,
    loss: Callable[..., torch.Tensor],
    optimizer: Callable[[Parameters], torch.optim.Optimizer],
    amp: torch.dtype | None = None,
) -> Step:
    """Forward, backward and update; `loss` takes the model and the batch."""
    ready = model.to(DEVICE).train()
    stepper = optimizer(ready.parameters())

    def step(*inputs: torch.Tensor) -> torch.Tensor:
        stepper.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype=amp or torch.bfloat16, enabled=amp is not None):
            value = loss(ready, *inputs)
        value.backward()
        stepper.step()
        return value.detach()

    return step


def adamw(parameters: Parameters) -> torch.optim.Optimizer:
    """AdamW over lists of tensors, its counters on the device."""
    return torch.optim.AdamW(parameters, lr=1e-4, foreach=True, capturable=ON_GPU)


def fused_adamw(parameters: Parameters) -> torch.optim.Optimizer:
    """AdamW in one kernel per list of tensors."""
    return torch.optim.AdamW(parameters, lr=1e-4, fused=True, capturable=ON_GPU)


def momentum(parameters: Parameters) -> torch.optim.Optimizer:
    """Stochastic gradient descent with momentum."""
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)
