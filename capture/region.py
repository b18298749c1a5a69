"""The repeated work, intercepted: every call of it goes through one form and marks a step."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Protocol


class StopScript(BaseException):
    """Ends the script after its last needed step; no `except Exception` of the script's stops it."""


class Watcher(Protocol):
    """What the recorder does around a call."""

    def is_away(self) -> bool:
        """Whether a call is none of the repeated ones, and nothing may be done around it."""
        ...

    def before_call(self) -> Any:
        """Run at a region's start; returns a mark for `after_call`."""

    def after_call(self, began: Any, output: Any) -> None:
        """Run at a region's end."""


class Region:
    """Stands in for a function or a module's forward.

    Calls from inside itself, from another thread meanwhile or from another process pass through.
    """

    def __init__(self, original: Callable[..., Any], form: Callable[..., Any], watcher: Watcher) -> None:
        self._original, self._form, self._watcher = original, form, watcher
        from torch.compiler import is_compiling  # this module is loaded before the script imports torch

        self._turn, self._compiling = threading.Lock(), is_compiling
        os.register_at_fork(after_in_child=self._pass_through)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one call through the form."""
        if self._compiling():  # what is around it is compiled, and shall have nothing of ours in it
            return self._original(*args, **kwargs)
        if self._watcher.is_away() or not self._turn.acquire(blocking=False):
            return self._original(*args, **kwargs)
        try:
            began = self._watcher.before_call()
            output = self._form(*args, **kwargs)
            self._watcher.after_call(began, output)
        finally:
            self._turn.release()
        return output

    def _pass_through(self) -> None:
        """Let every call through, in a process that the script forked."""
        self._turn = threading.Lock()
        self._turn.acquire()


class ModuleRegion(Region):
    """A module's forward, kept in the instance. A copied or pickled module gets its class's own forward back."""

    def __init__(self, module: Any, form: Callable[..., Any], watcher: Watcher) -> None:
        super().__init__(module.forward, form, watcher)
        self._module = module

    def install(self) -> None:
        """Put the region in the module's place of `forward`."""
        vars(self._module)["forward"] = self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as the plain method."""
        return getattr, (self._module, "forward")
