"""A module whose backward pass comes later: forward and backward captured as two graphs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from capture import torch_private
from capture.forms.inputs import buffer
from capture.forms.outputs import Outputs


class _Flat(nn.Module):
    """The region as `make_graphed_callables` wants it: tensors in, tensors out, parameters its own."""

    def __init__(self, module: nn.Module, call: Callable[[list[Any]], Any], leaves: list[Any]) -> None:
        super().__init__()
        self.region = module
        self._call, self._leaves = call, leaves
        self.places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.returned: list[Any] = []
        self.structure: Any = None

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        leaves = list(self._leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        self.returned, self.structure = torch_private.flatten(self._call(leaves))
        return tuple(leaf for leaf in self.returned if isinstance(leaf, torch.Tensor))


class GraphedBackward:
    """Forward and backward graphs of one signature."""

    def __init__(self, module: Any, call: Callable[[list[Any]], Any], leaves: list[Any]) -> None:
        self._flat = _Flat(module, call, leaves)
        sample = tuple(buffer(leaves[place]) for place in self._flat.places)
        with _unchanged(module):
            self._graphed: Any = torch.cuda.make_graphed_callables(self._flat, sample, allow_unused_input=True)
        self._others = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in self._flat.returned]
        self._is_tensor = [isinstance(leaf, torch.Tensor) for leaf in self._flat.returned]

    def __call__(self, leaves: list[Any], outputs: Outputs) -> Any:
        """Replay the forward pass; the backward pass is replayed when the script asks for it."""
        tensors = iter(outputs.released(list(self._graphed(*[leaves[place] for place in self._flat.places]))))
        found = [
            next(tensors) if is_tensor else other
            for is_tensor, other in zip(self._is_tensor, self._others, strict=True)
        ]
        return torch_private.unflatten(found, self._flat.structure)


@contextmanager
def _unchanged(module: Any) -> Generator[None]:
    """Undo what warm-up and capture do to buffers and the random state, with autocast's cache off."""
    buffers = [(kept, kept.clone()) for kept in module.buffers()]
    random, cache = torch.cuda.get_rng_state(), torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(cache and not torch.is_autocast_enabled())
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(cache)
        torch.cuda.set_rng_state(random)
        with torch.no_grad():
            for kept, before in buffers:
                kept.copy_(before)
