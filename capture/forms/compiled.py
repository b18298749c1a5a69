"""Compile: the region through torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from capture import torch_private
from capture.records import FormRecord


class Compiled:
    """The region compiled, and what the compiler said of it."""

    def __init__(self, original: Callable[..., Any], mode: str | None, dynamic: bool | None) -> None:
        self._log = torch_private.CompilerLog()
        compile: Any = torch.compile  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        self._compiled: Callable[..., Any] = compile(original, mode=mode, dynamic=dynamic)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call."""
        return self._compiled(*args, **kwargs)

    def state(self) -> object:
        """Return the number of compiler graphs built so far."""
        return torch_private.compiled_graphs()

    def report(self, record: FormRecord) -> None:
        """Write graph breaks, recompilations and skipped CUDA graphs."""
        record.compiler_graphs = torch_private.compiled_graphs()
        record.graph_breaks = self._log.rows("graph_breaks")
        record.recompiles = self._log.rows("recompiles")
        record.cudagraph_skips = self._log.rows("cudagraph_skips")
