"""Finds what a script repeats, without touching it: outermost module calls and optimizer steps are watched."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from capture.job import Target
from capture.unseen import ModuleCalls, unseen

REPEATS = 3
"""Calls after which a module with parameters is taken to be what repeats."""
REPEATS_WITHOUT_PARAMETERS = 30
"""A loss or a transform repeats too: a module without parameters needs more calls."""
OPTIMIZER_STEPS = 2
CALLS_WITHOUT_OPTIMIZER = 64
"""Calls with gradients after which no optimizer step is expected any more (gradient accumulation can be long)."""


@dataclass
class Seen:
    """One module called from outside any other."""

    module: weakref.ref[nn.Module]
    calls: int
    parameters: int


class OptimizerSteps:
    """Counts every optimizer's steps and tells one listener, once there is one."""

    def __init__(self) -> None:
        self.begun = False
        self._counts: Counter[int] = Counter()
        self._process = os.getpid()
        self.listener: Callable[[Optimizer, int], None] | None = None
        self._hooks: list[Any] = []

    def start(self) -> None:
        """Count from now on; a step that the script has compiled is not seen."""
        self._hooks += [
            register_optimizer_step_pre_hook(unseen(self._began, _nothing)),
            register_optimizer_step_post_hook(unseen(self._stepped, _nothing)),
        ]

    @property
    def most(self) -> int:
        """Steps of the optimizer that stepped most often."""
        return max(self._counts.values(), default=0)

    def stop(self) -> None:
        """Count no further."""
        for hook in self._hooks:
            hook.remove()

    def _began(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self.begun = True

    def _stepped(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self._counts[id(optimizer)] += 1
        if self.listener is not None and os.getpid() == self._process:
            self.listener(optimizer, self._counts[id(optimizer)])


class Found(Protocol):
    """Told once which module repeats, before its next call."""

    def __call__(self, module: nn.Module, target: Target, calls: int) -> None:
        """Take the module; it has been called that often before."""


class Discovery:
    """Watches every module call until the repeated one is known; then it is gone without a trace."""

    def __init__(self, target: Target, optimizers: OptimizerSteps, found: Found) -> None:
        self._target, self._found = target, found
        self._seen: list[Seen] = []
        self._index: dict[int, int] = {}
        self._optimizers = optimizers
        self._inside = threading.local()
        self._watching, self._process = True, os.getpid()
        self._calls = ModuleCalls(self._call)

    def stop(self) -> None:
        """Take the watch off, also from a call that has been on its way since before."""
        self._watching = False
        self._calls.stop()

    def most_calls(self) -> int:
        """Return how often the most-called module was called."""
        return max((seen.calls for seen in self._seen), default=0)

    def _call(self, call: Callable[..., Any], module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for one call of a module."""
        if not self._watching:
            return call(*args, **kwargs)
        outermost = not getattr(self._inside, "busy", False)
        if os.getpid() == self._process:
            self._consider(module, outermost)
        self._inside.busy = True
        try:
            return call(*args, **kwargs)
        finally:
            self._inside.busy = not outermost

    def _consider(self, module: nn.Module, outermost: bool) -> None:
        if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
            return  # the script makes a CUDA graph of its own, which nothing may be done around
        if self._target.module is not None:
            if is_named(module, self._target.module) and not is_unfinished(module):
                self._settle(module, self._target, 0)
        elif outermost and not is_unfinished(module):
            seen, ordinal = self._remember(module)
            chosen = self._choose(seen, ordinal)
            if chosen is not None:
                self._settle(module, chosen, seen.calls)
            seen.calls += 1

    def _settle(self, module: nn.Module, target: Target, calls: int) -> None:
        self.stop()
        self._found(module, target, calls)

    def _remember(self, module: nn.Module) -> tuple[Seen, int]:
        ordinal = self._index.get(id(module))
        if ordinal is None or self._seen[ordinal].module() is not module:
            ordinal = self._index[id(module)] = len(self._seen)
            parameters = sum(parameter.numel() for parameter in module.parameters())
            self._seen.append(Seen(weakref.ref(module), 0, parameters))
        return self._seen[ordinal], ordinal

    def _choose(self, seen: Seen, ordinal: int) -> Target | None:
        """Return the target if the module about to be called is what repeats."""
        if self._target.ordinal is not None:
            return self._target if ordinal == self._target.ordinal else None
        if not self._is_largest(seen):
            return None
        training = self._optimizers.most >= OPTIMIZER_STEPS
        if not training and self._expects_optimizer(seen):
            return None
        return Target(ordinal=ordinal, training=training)

    def _is_largest(self, seen: Seen) -> bool:
        """Whether the module repeats, and none that repeats has more parameters."""
        if seen.calls < (REPEATS if seen.parameters else REPEATS_WITHOUT_PARAMETERS):
            return False
        return all(other.parameters <= seen.parameters for other in self._seen if other.calls >= 2)

    def _expects_optimizer(self, seen: Seen) -> bool:
        module = seen.module()
        if module is None or not torch.is_grad_enabled() or seen.calls >= CALLS_WITHOUT_OPTIMIZER:
            return False
        return any(parameter.grad is not None for parameter in module.parameters()) or self._optimizers.begun


def _nothing(*_: Any) -> None:
    """Do nothing."""


def is_unfinished(module: nn.Module) -> bool:
    """Return whether a module gets some of its parameters only at its first call."""
    return any(is_lazy(parameter) for parameter in module.parameters())


def is_named(module: nn.Module, name: str) -> bool:
    """Return whether a module is meant by `--module`: by its class's name, or by a path from the script's globals."""
    kind = type(module)
    if name in {kind.__name__, kind.__qualname__, f"{kind.__module__}.{kind.__qualname__}"}:
        return True
    found: Any = sys.modules["__main__"]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is module
