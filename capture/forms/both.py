"""Both: compiled and replayed, by the compiler itself (reduce-overhead) or by capturing the compiled region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from capture import torch_private
from capture.forms.compiled import Compiled
from capture.forms.outputs import Outputs, copied
from capture.forms.replay import Replay
from capture.records import FormRecord

WATCHED = 3
"""Calls whose outputs are copied and watched, to learn whether later ones must be."""


class ReduceOverhead:
    """The region through torch.compile(mode="reduce-overhead"), whose CUDA graphs overwrite the last call's outputs."""

    def __init__(self, original: Callable[..., Any], dynamic: bool | None) -> None:
        torch_private.init_profiler_for_cuda_graphs()
        self._compiled = Compiled(original, "reduce-overhead", dynamic)
        self._outputs, self._calls = Outputs(), 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call."""
        self._calls += 1
        self._outputs.look()
        torch.compiler.cudagraph_mark_step_begin()
        output = self._compiled(*args, **kwargs)
        if self._calls > WATCHED and not self._outputs.held:
            return output
        leaves, structure = torch_private.flatten(output)
        leaves = copied(leaves)
        if self._calls <= WATCHED:
            self._outputs.watch(leaves)
        return torch_private.unflatten(leaves, structure)

    def state(self) -> object:
        """Return the number of compiler graphs built; their CUDA graphs are recorded at the calls that follow."""
        return self._compiled.state()

    def report(self, record: FormRecord) -> None:
        """Write what the compiler said."""
        self._compiled.report(record)
        record.copied_outputs = self._outputs.tensors if self._outputs.held else 0


class CompiledReplay(Replay):
    """The region compiled, then captured once it no longer compiles."""

    def __init__(self, original: Callable[..., Any], module: Any | None, dynamic: bool | None, max_graphs: int) -> None:
        self._compiled, self._graphs_before = Compiled(original, None, dynamic), self._NOTHING
        super().__init__(self._compiled, module, max_graphs)

    _NOTHING: object = object()

    def settled(self) -> bool:
        """Whether nothing has been compiled since the last call."""
        before, self._graphs_before = self._graphs_before, self._compiled.state()
        return before == self._graphs_before

    def state(self) -> object:
        """Return the state of the compiler and of the graphs."""
        return self._compiled.state(), super().state()

    def report(self, record: FormRecord) -> None:
        """Write what the compiler said, and the graphs."""
        self._compiled.report(record)
        super().report(record)
