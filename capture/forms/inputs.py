"""A captured graph reads fixed addresses: what of a call's inputs stays where it is, and what is copied in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

from capture import torch_private


class Inputs:
    """The inputs of one signature: the same tensor at every call is read in place, any other through a buffer."""

    def __init__(self) -> None:
        self._last: list[Any] | None = None
        self._moving: set[int] = set()
        self._written: set[int] = set()
        self._static: list[Any] = []
        self._in_place: list[int] = []
        self._buffered: list[int] = []

    @contextmanager
    def observed(self, leaves: list[Any]) -> Generator[None]:
        """Note during a warm-up call which inputs are other tensors than before, and which are written to."""
        self._note_moves(leaves)
        before = [torch_private.version(leaf) for leaf in leaves]
        yield
        after = [torch_private.version(leaf) for leaf in leaves]
        self._written |= {place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]}

    def make_static(self, leaves: list[Any]) -> list[Any]:
        """Return the inputs to capture with: the tensors that stay, and buffers holding the others' values."""
        self._note_moves(leaves)
        tensors = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self._buffered = [place for place in tensors if place in self._moving]
        self._in_place = [place for place in tensors if place not in self._moving]
        self._static = [buffer(leaf) if place in self._moving else leaf for place, leaf in enumerate(leaves)]
        return self._static

    def fill(self, leaves: list[Any]) -> bool:
        """Copy the call's values into the buffers; false if a tensor that always stayed was replaced."""
        moved = {place for place in self._in_place if leaves[place] is not self._static[place]}
        self._moving |= moved
        if moved:
            return False
        for place in self._buffered:
            self._static[place].copy_(leaves[place])
        return True

    def copy_back(self, leaves: list[Any]) -> None:
        """Give the caller's tensors what the region wrote into their buffers."""
        for place in self._written.intersection(self._buffered):
            leaves[place].copy_(self._static[place])

    def _note_moves(self, leaves: list[Any]) -> None:
        if self._last is not None:
            pairs = zip(self._last, leaves, strict=True)
            self._moving |= {place for place, (last, leaf) in enumerate(pairs) if last is not leaf}
        self._last = leaves


def buffer(leaf: Any) -> Any:
    """Return a tensor of the same kind and values at an address of its own, which code compiled for the leaf takes.

    An expanded tensor gets memory for every element instead: a value of one that is shared could not be copied in.
    """
    if not isinstance(leaf, torch.Tensor):
        return leaf
    values = leaf.detach()
    plain = type(leaf) is torch.Tensor and leaf.layout is torch.strided and 0 not in leaf.stride()
    held = values.new_empty_strided(leaf.shape, leaf.stride()).copy_(values) if plain else values.clone()
    return held.requires_grad_(leaf.requires_grad)
