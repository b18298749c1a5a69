"""Our own Python around the script's calls, kept from a compiler that the script or a form uses.

What the compiler traces must be the script's alone: it would compile anew at every count of ours, and break its graphs
at every clock. While a script runs, this package's modules cannot be imported by their names, so code that may be
traced has what it needs in the cells of a closure or in attributes, never in globals.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import nn

from capture import torch_private
from capture.imports import AfterImport

_OWN = str(Path(__file__).resolve().parent)
_ASKED, _ASKS = torch_private.CALL_OVERRIDE, nn.Module.__call__.__code__


def unseen(watch: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does what `watch` does, and where a compiler traces it, only what `plain` does."""
    compiling = torch.compiler.is_compiling

    def call(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs) if compiling() else watch(*args, **kwargs)

    return call


def leave_own_frames_alone() -> None:
    """Make the compiler, once there is one, run our functions as they are, and compile only what they call."""
    AfterImport("torch._dynamo", lambda: torch_private.leave_alone(_own_code()))


def _own_code() -> Iterator[CodeType]:
    functions = [found for found in gc.get_objects() if type(found) is FunctionType]
    waiting = [function.__code__ for function in functions if function.__code__.co_filename.startswith(_OWN)]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]


class ModuleCalls:
    """Tells of every call of a module, by the attribute in which each call looks for a compiled form of the module.

    `nn.Module.__call__` itself stays as it is: the compiler knows a plain module by it.
    """

    def __init__(self, watch: Callable[..., Any]) -> None:
        """Begin to watch: `watch(call, module, *args, **kwargs)` stands in for `call(*args, **kwargs)`."""
        self._watch, self._compiling = watch, torch.compiler.is_compiling
        self._frame = sys._getframe  # pyright: ignore[reportPrivateUsage]
        self._name, self._before = _ASKED, vars(nn.Module)[_ASKED]
        setattr(nn.Module, _ASKED, self)

    def stop(self) -> None:
        """Leave the class as it was."""
        setattr(nn.Module, _ASKED, self._before)

    def __get__(self, module: Any, kind: Any = None) -> Any:
        """Return what watches a call to the call itself, and to any other the module's own value."""
        own = self._before if module is None else module.__dict__.get(self._name, self._before)
        if self._compiling() or module is None or self._frame(1).f_code is not _ASKS:
            return own
        return partial(self._watch, own or module._call_impl, module)

    def __set__(self, module: nn.Module, value: Any) -> None:
        """Keep the module's own value where it would be."""
        vars(module)[_ASKED] = value
