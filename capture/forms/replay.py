"""Replay: the region's own kernels, captured once per input signature into a CUDA graph and relaunched.

Only the script's own calls are run. The first of a signature warm up on a side stream; the next is captured, which runs
nothing, and then replayed for its result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

from capture import torch_private
from capture.failure import Blocked
from capture.forms.allocations import Allocations
from capture.forms.backward import GraphedBackward
from capture.forms.inputs import Inputs
from capture.forms.outputs import Outputs
from capture.forms.signature import put_together, refuse_host_inputs, signature, take_apart
from capture.records import FormRecord

WARMUPS = 3
"""Calls before a capture: lazy initialisation, autotuning and allocation must be over."""


class Replay:
    """One graph per input signature, up to a number."""

    def __init__(self, function: Callable[..., Any], module: Any | None, max_graphs: int) -> None:
        torch_private.init_profiler_for_cuda_graphs()
        self._function, self._module, self._max_graphs = function, module, max_graphs
        self._graphs: dict[Hashable, Graphed] = {}
        self._outputs, self._allocations = Outputs(), Allocations()
        self._side = torch.cuda.Stream()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call: warm up, capture or replay."""
        leaves, structure = take_apart(args, kwargs)
        key = signature(leaves, structure, self._module)
        graphed = self._graphs.get(key) or self._add(key, leaves, structure)
        return graphed(leaves)

    def state(self) -> object:
        """Return how far the graphs are, one by one."""
        return tuple(graphed.progress for graphed in self._graphs.values())

    def report(self, record: FormRecord) -> None:
        """Write the number of graphs, what they allocated, and the outputs copied after each replay."""
        record.cuda_graphs = sum(graphed.ready for graphed in self._graphs.values())
        self._allocations.report(record)
        record.copied_outputs = self._outputs.tensors if self._outputs.held else 0

    def settled(self) -> bool:
        """Whether the function itself has settled, so that it can be captured."""
        return True

    def _add(self, key: Hashable, leaves: list[Any], structure: Any) -> Graphed:
        refuse_host_inputs(leaves)
        if len(self._graphs) >= self._max_graphs:
            text = f"more than {self._max_graphs} input signatures (shapes, dtypes or plain values); see --max-graphs"
            raise Blocked("shapes", text)
        graphed = Graphed(
            self._function, self._module, structure, self._outputs, self._allocations, self._side, self.settled
        )
        return self._graphs.setdefault(key, graphed)


class Graphed:
    """The calls of one signature."""

    def __init__(
        self,
        function: Callable[..., Any],
        module: Any | None,
        structure: Any,
        outputs: Outputs,
        allocations: Allocations,
        side: torch.cuda.Stream,
        settled: Callable[[], bool],
    ) -> None:
        self._function, self._module, self._structure = function, module, structure
        self._outputs, self._allocations, self._side, self._settled = outputs, allocations, side, settled
        self._inputs = Inputs()
        self._backward_follows = False
        self._replay: Callable[[list[Any]], Any] | None = None
        self.progress = 0

    @property
    def ready(self) -> bool:
        """Whether a graph has been captured."""
        return self._replay is not None

    def __call__(self, leaves: list[Any]) -> Any:
        """Run one call."""
        if self._replay is None:
            self._outputs.look()
            if self.progress < WARMUPS or not self._settled():
                return self._warm_up(leaves)
            self._replay = self._captured(leaves)
            self.progress += 1
        return self._replay(leaves)

    def _call(self, leaves: list[Any]) -> Any:
        args, kwargs = put_together(leaves, self._structure)
        return self._function(*args, **kwargs)

    def _warm_up(self, leaves: list[Any]) -> Any:
        """Run the call on the side stream, in order with the script's stream on both sides."""
        current = torch.cuda.current_stream()
        self._side.wait_stream(current)
        with torch.cuda.stream(self._side), self._inputs.observed(leaves):
            output = self._call(leaves)
        current.wait_stream(self._side)
        found = [leaf for leaf in torch_private.flatten(output)[0] if isinstance(leaf, torch.Tensor)]
        for leaf in found:
            if leaf.is_cuda:
                leaf.record_stream(current)
        self._backward_follows = self._module is not None and any(leaf.requires_grad for leaf in found)
        self._outputs.watch(found)
        self.progress += 1
        return output

    def _captured(self, leaves: list[Any]) -> Callable[[list[Any]], Any]:
        with self._allocations.counted():
            return self._graph_with_backward(leaves) if self._backward_follows else self._graph(leaves)

    def _graph(self, leaves: list[Any]) -> Callable[[list[Any]], Any]:
        """Capture the call; returns what replays it."""
        inputs = self._inputs
        static = inputs.make_static(leaves)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._side, capture_error_mode="thread_local"):
            output = self._call(static)
        held, structure = torch_private.flatten(output)
        held = [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in held]

        def replay(leaves: list[Any]) -> Any:
            if not inputs.fill(leaves):
                self._replay = self._captured(leaves)
                return self._replay(leaves)
            graph.replay()
            inputs.copy_back(leaves)
            return torch_private.unflatten(self._outputs.released(held), structure)

        return replay

    def _graph_with_backward(self, leaves: list[Any]) -> Callable[[list[Any]], Any]:
        graphed = GraphedBackward(self._module, self._call, leaves)
        return lambda leaves: graphed(leaves, self._outputs)
