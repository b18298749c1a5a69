"""Every private interface of PyTorch that is used: each degrades to None, never to an error.

Seen in torch 2.6, 2.11 and 2.13.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Callable, Iterable
from threading import Thread
from types import CodeType
from typing import Any, TypeVar

from capture.records import Row, counted

Result = TypeVar("Result")

_ARTIFACTS = {"__graph_breaks": "graph_breaks", "__recompiles": "recompiles", "__perf_hints": "cudagraph_skips"}
_BREAK = re.compile(r"user code at (?P<where>\S+:\d+)\n(?:Graph Break )?Reason: (?P<reason>.*)", re.DOTALL)
_RECOMPILE = re.compile(r"Recompiling function \S+ in (?P<where>\S+:\d+)\n.*?\n\s*- (?P<reason>.*)", re.DOTALL)
_SKIP = re.compile(r"(?P<reason>skipping cudagraphs due to .*)", re.DOTALL)
_PATTERNS = {"graph_breaks": _BREAK, "recompiles": _RECOMPILE, "cudagraph_skips": _SKIP}
_PREAMBLES = ("Encountered graph break", "Failed to handle graph break gracefully", "Graph Break Reason")
CALL_OVERRIDE = "_compiled_call_impl"
"""The attribute of a module that `nn.Module.__call__` asks for what to call, None for the module as it is."""
PATIENCE_S = 0.5
"""How long the compiler's workers may take to end by themselves."""
_KEYS = {"graph_breaks": "reason", "recompiles": "guard", "cudagraph_skips": "reason"}


def guarded(read: Callable[[], Result]) -> Result | None:
    """Return what a private interface says, None where this PyTorch lacks it or it has changed."""
    try:
        return read()
    except (ImportError, AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        return None


def counters() -> Any | None:
    """Return the compiler's counters, None where there are none."""
    return guarded(lambda: importlib.import_module("torch._dynamo.utils").counters)


def compiled_graphs() -> int | None:
    """Return how many compiler graphs have been built so far."""
    table = counters()
    return None if table is None else guarded(lambda: int(table["stats"]["unique_graphs"]))


def compiled_graphs_so_far() -> int | None:
    """Return the same without importing a compiler that nobody has used yet."""
    return compiled_graphs() if "torch._dynamo.utils" in sys.modules else 0


def init_profiler_for_cuda_graphs() -> None:
    """Initialise the profiler, which must come before a capture for replayed kernels to be seen."""
    guarded(lambda: importlib.import_module("torch.profiler._utils")._init_for_cuda_graphs())


def is_profiled() -> bool:
    """Return whether a profiler records in this process."""
    return bool(guarded(lambda: importlib.import_module("torch.autograd")._profiler_enabled()))


def stop_compile_workers() -> None:
    """End the compiler's worker processes, if it has any; a later compilation starts new ones.

    They go on importing for seconds after a short compilation, and a step that uses all the processor's cores waits
    for them. One that is not done with that when it is told to end would answer only then, so it is killed.
    """
    if "torch._inductor.async_compile" in sys.modules:
        guarded(lambda: _stop_pools(importlib.import_module("torch._inductor.async_compile")))


def _stop_pools(workers: Any) -> None:
    pools = list(workers._pool_set)
    ending = Thread(target=guarded, args=(workers.shutdown_compile_workers,), daemon=True)
    ending.start()
    ending.join(PATIENCE_S)
    while ending.is_alive():
        for pool in pools:
            guarded(pool.process.kill)
        ending.join(PATIENCE_S)


def leave_alone(codes: Iterable[CodeType]) -> None:
    """Make the compiler run frames of that code as they are; what they call it compiles as ever."""

    def mark() -> None:
        skip = importlib.import_module("torch._dynamo.eval_frame").skip_code
        for code in codes:
            skip(code)

    guarded(mark)


def use_eager_random() -> None:
    """Make the compiler draw random numbers as eager does, to compare outputs."""
    config = guarded(lambda: importlib.import_module("torch._inductor.config"))
    if config is not None:
        guarded(lambda: setattr(config, "fallback_random", True))


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of nested containers and the structure that `unflatten` needs."""
    return importlib.import_module("torch.utils._pytree").tree_flatten(tree)


def unflatten(leaves: list[Any], structure: Any) -> Any:
    """Rebuild what `flatten` took apart."""
    return importlib.import_module("torch.utils._pytree").tree_unflatten(leaves, structure)


def storage_watch(tensor: Any) -> Callable[[], bool] | None:
    """Return a function that says whether anything still holds the tensor's memory, without holding it."""

    def read() -> Callable[[], bool]:
        weak = importlib.import_module("torch.multiprocessing.reductions").StorageWeakRef(tensor.untyped_storage())
        return lambda: not weak.expired()

    return guarded(read)


class CompilerLog(logging.Handler):
    """Collects what the compiler says of graph breaks, recompilations and skipped CUDA graphs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._rows: dict[str, list[tuple[str, str | None]]] = {name: [] for name in _PATTERNS}
        self.listening = guarded(self._listen) is not None

    def rows(self, name: str) -> list[Row] | None:
        """Return the rows of `graph_breaks`, `recompiles` or `cudagraph_skips`; None where it cannot be known."""
        return counted(self._rows[name], _KEYS[name]) if self.listening else None

    def emit(self, record: logging.LogRecord) -> None:
        """Sort one message of the compiler into its table; others are left alone."""
        name = _ARTIFACTS.get(record.name.rsplit(".", 1)[-1])
        match = _PATTERNS[name].search(record.getMessage()) if name else None
        if name and match:
            found = match.groupdict()
            self._rows[name].append((_first_line(found["reason"]), found.get("where")))

    def _listen(self) -> bool:
        modules = ("torch._dynamo.symbolic_convert", "torch._dynamo.guards", "torch._inductor.cudagraph_utils")
        for module in modules:
            importlib.import_module(module)
        artifacts = {"graph_breaks": True, "recompiles": True, "perf_hints": True}
        importlib.import_module("torch._logging").set_logs(**artifacts)
        loggers = [name for name in logging.root.manager.loggerDict if name.startswith("torch")]
        for name in loggers:
            if name.rsplit(".", 1)[-1] in _ARTIFACTS:
                logger = logging.getLogger(name)
                logger.propagate = False
                logger.addHandler(self)
        return True


def _first_line(text: str) -> str:
    """Return the line that says what happened; newer versions say first that something did."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    stated = [line for line in lines if not line.startswith(_PREAMBLES)]
    return (stated or lines or [""])[0][:300]


def version(leaf: Any) -> int | None:
    """Return how often a tensor has been written to; None for what does not count it."""
    return guarded(lambda: int(leaf._version))
