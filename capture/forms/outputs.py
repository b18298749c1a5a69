"""Whether the script still holds an output when it calls again: then a replay must not overwrite it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from capture import torch_private


class Outputs:
    """Watches the outputs of the first calls; copies later ones if any was still held at the next call.

    A weak reference to the memory is watched, not the tensor, so a view that the script keeps counts too.
    """

    def __init__(self) -> None:
        self.held = False
        self.tensors = 0
        self._watches: list[Callable[[], bool] | None] = []

    def look(self) -> None:
        """At a call's start: note whether the last watched output is still held; unknown counts as held."""
        self.held = self.held or any(watch is None or watch() for watch in self._watches)
        self._watches = []

    def watch(self, leaves: list[Any]) -> None:
        """At a call's end: watch what is returned."""
        found = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.tensors = len(found)
        self._watches = [torch_private.storage_watch(leaf) for leaf in found]

    def released(self, leaves: list[Any]) -> list[Any]:
        """Return the outputs as the script may have them: copies, if it holds on to them."""
        return copied(leaves) if self.held else leaves


def copied(leaves: list[Any]) -> list[Any]:
    """Return the leaves with every tensor copied."""
    return [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
