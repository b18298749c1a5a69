"""Reads torch.profiler traces and decides between torch.compile, CUDA Graph replay, both and neither.

    import tracelens

    trace = tracelens.load("eager.pt.trace.json.gz")
    trace.kernels                      # a DataFrame, a row per kernel, times in ns
    analysis = tracelens.analyze(trace)
    print(tracelens.report(trace).to_text())

Nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module

from tracelens.version import __version__

TYPE_CHECKING = False  # typing itself takes longer to import than all that is here
if TYPE_CHECKING:
    from typing import Any

    from tracelens.api import Trace, analyze, load, report

__all__ = ["Trace", "__version__", "analyze", "load", "report"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    if name not in __all__:
        raise AttributeError(f"module 'tracelens' has no attribute {name!r}")
    value = getattr(import_module("tracelens.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
