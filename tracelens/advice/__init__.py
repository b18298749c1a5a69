"""Analysis to predicted forms, blockers, findings and the verdict.

Its rooms, each of which may import those before it: step; operators and blockers; device; compiler; forms; rules;
choice and explain. Beside them lies what many of them use, and `advising`, which goes through them.

The function is imported at its first use: rules and explanations do without what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracelens.advice.advising import advise

__all__ = ["advise"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    if name != "advise":
        raise AttributeError(f"module 'tracelens.advice' has no attribute {name!r}")
    from tracelens.advice.advising import advise

    globals()[name] = advise
    return advise
