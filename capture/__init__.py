"""Runs a script in four forms under torch.profiler and records what each cost.

In a notebook or a server, `capture.run(step, inputs, "run-directory")` does the same to a function:

    import capture

    records = capture.run(lambda x: model(x), [(x,) for x in batches], "runs/step")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capture.inprocess import run

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from capture.inprocess import run

    return run
