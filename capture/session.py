"""The repeated work of one script: found, sent through the form, and recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch.nn.parallel import DistributedDataParallel

from capture import forms, torch_private
from capture.compare import perturb
from capture.discover import Discovery, OptimizerSteps
from capture.job import Target
from capture.progress import Board
from capture.recorder import Recorder
from capture.region import ModuleRegion, Region, StopScript
from capture.result import Result
from capture.unseen import leave_own_frames_alone, unseen


class Session:
    """Joins the parts in one process, from the moment that the script has torch."""

    def __init__(self, result: Result) -> None:
        self._result, self._job = result, result.job
        self._board = Board(self._job.board)
        torch.manual_seed(self._job.seed)  # pyright: ignore[reportUnknownMemberType]
        if self._job.fallback_random:
            torch_private.use_eager_random()
        leave_own_frames_alone()
        self._optimizers = OptimizerSteps()
        target = self._job.target
        by_name = target.function is not None
        if target.training or (target.ordinal is None and target.module is None and not by_name):
            self._optimizers.start()
        self._discovery = None if by_name else Discovery(target, self._optimizers, self._module_found)

    def decorate(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the named function of the script as the region."""
        code = function.__code__
        where = f"{code.co_filename}:{code.co_firstlineno}"
        self._result.described = {"kind": "function", "name": function.__qualname__, "where": where}
        regions: list[Region] = []

        def call(*args: Any, **kwargs: Any) -> Any:
            if not regions:
                regions.append(self._region(Region, function, None))
            return regions[0](*args, **kwargs)

        region = unseen(call, function)
        vars(region).update(__wrapped__=function, __name__=function.__name__, __qualname__=function.__qualname__)
        return region

    def stop(self) -> None:
        """Take every watch off."""
        if self._discovery is not None:
            self._discovery.stop()
            self._result.calls_seen = self._discovery.most_calls()
        self._optimizers.stop()
        if self._result.recorder is not None:
            self._result.recorder.close()

    def _module_found(self, module: Any, target: Target, calls: int) -> None:
        module = _inside(module)
        if self._job.perturbed:
            perturb(module.parameters())
        kind = cast(Any, type(module))
        self._result.target = target
        self._result.described = {
            "kind": "training_step" if target.training else "module",
            "name": f"{kind.__module__}.{kind.__qualname__}".removeprefix("__main__."),
            "where": _defined(kind),
        }
        region = self._region(ModuleRegion, module.forward, module, 0 if target.training else calls)
        region.install()

    def _region(self, kind: Any, original: Callable[..., Any], module: Any | None, first: int = 0) -> Any:
        form = forms.build(self._job, original, module)
        recorder = self._result.recorder = Recorder(self._job, self._board, form, self._result.save)
        training = bool(self._result.target.training)
        recorder.begin(first, not training, module.named_parameters if module is not None else None)
        if training:
            self._optimizers.listener = self._optimizer_listener(recorder, module)
        call = form if self._job.form == "eager" else self._guarded(form)
        return kind(module if module is not None else original, call, recorder)

    def _guarded(self, form: forms.Form) -> Callable[..., Any]:
        """Return the form so that its first failure is the result, and ends the script."""

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return form(*args, **kwargs)
            except Exception as error:
                self._result.fail(error)
                raise StopScript from error

        return call

    def _optimizer_listener(self, recorder: Recorder, module: Any) -> Callable[[Any, int], None]:
        """Return what ends a step at each step of the first optimizer that holds one of the module's parameters."""
        parameters = {id(parameter) for parameter in module.parameters()}
        chosen: list[int] = []

        def stepped(optimizer: Any, count: int) -> None:
            if recorder.is_away():
                return
            held = (id(parameter) for group in optimizer.param_groups for parameter in group["params"])
            if not chosen and not parameters.isdisjoint(held):
                chosen.append(id(optimizer))
                recorder.begin(count, False, module.named_parameters)
            if chosen and chosen[0] == id(optimizer):
                recorder.advance()

        return stepped


def _inside(module: Any) -> Any:
    """Return the module that DistributedDataParallel wraps: its own forward and its reductions stay outside."""
    return cast(Any, module).module if isinstance(module, DistributedDataParallel) else module


def _defined(kind: type[Any]) -> str | None:
    """Return `file:line` of a class's forward."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else None
