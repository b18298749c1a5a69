"""One form's process: runs the script with its repeated work intercepted, and leaves the result."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch

from capture import environment, forms, torch_private
from capture.discover import Discovery, OptimizerSteps
from capture.failure import cannot_run
from capture.job import Job, Target
from capture.progress import Board
from capture.recorder import Recorder, StopScript
from capture.records import FormRecord
from capture.region import ModuleRegion, Region
from capture.script import Script, ScriptError, own_traceback


class Session:
    """Joins the parts in one process: what repeats is found, goes through the form, and is recorded."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._board = Board(job.board)
        self._recorder: Recorder | None = None
        self._failed: FormRecord | None = None
        self._target, self._described = job.target, {"kind": None, "name": None, "where": None}
        self._optimizers = OptimizerSteps()
        by_name = job.target.function is not None
        self._discovery = None if by_name else Discovery(job.target, self._optimizers, self._module_found)
        self._board.show("searching")

    def decorate(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the named function of the script as the region."""
        code = function.__code__
        self._described = {
            "kind": "function",
            "name": function.__qualname__,
            "where": f"{code.co_filename}:{code.co_firstlineno}",
        }
        regions: list[Region] = []

        def call(*args: Any, **kwargs: Any) -> Any:
            if not regions:
                regions.append(self._region(Region, function, None))
            return regions[0](*args, **kwargs)

        vars(call).update(__wrapped__=function, __name__=function.__name__, __qualname__=function.__qualname__)
        return call

    def save(self, ended: str | None = None, exit_code: int | None = None) -> None:
        """Write the result so far, whole or not at all."""
        recorder = self._recorder
        record = self._failed or (recorder.record if recorder else FormRecord(variant=self.job.variant))
        result = {
            "record": record.as_json(),
            "finished": self._failed is not None or (recorder is not None and recorder.finished),
            "steps_seen": recorder.step if recorder else 0,
            "plan": asdict(recorder.plan if recorder else self.job.plan),
            "calls_seen": self._discovery.most_calls() if self._discovery else 0,
            "target": asdict(self._target),
            "described": self._described,
            "cuda_used": torch.cuda.is_initialized(),
            "environment": environment.describe(),
            "ended": ended,
            "exit_code": exit_code,
        }
        partial = self.job.result.with_suffix(".partial")
        partial.write_text(json.dumps(result))
        partial.replace(self.job.result)

    def fail(self, error: BaseException) -> None:
        """Record that the form cannot run, if it was under way."""
        if self._recorder is not None and self._recorder.finished:
            return
        record = cannot_run(error)
        record.variant = self.job.variant
        if self._recorder is not None:
            self._recorder.report_compiler(record)
        self._failed = record

    def close(self, ended: str, exit_code: int) -> None:
        """Take every watch off and write the last result."""
        if self._discovery is not None:
            self._discovery.stop()
        self._optimizers.stop()
        if self._recorder is not None:
            self._recorder.close()
        self.save(ended, exit_code)
        if self._failed is not None:
            self._board.show("done")

    def _module_found(self, module: Any, target: Target, calls: int) -> None:
        kind = cast(Any, type(module))
        self._target = target
        self._described = {
            "kind": "training_step" if target.training else "module",
            "name": f"{kind.__module__}.{kind.__qualname__}".removeprefix("__main__."),
            "where": _defined(kind),
        }
        region = self._region(ModuleRegion, module.forward, module, 0 if target.training else calls)
        region.install()

    def _region(self, kind: Any, original: Callable[..., Any], module: Any | None, first: int = 0) -> Any:
        form = forms.build(self.job, original, module)
        recorder = self._recorder = Recorder(self.job, self._board, form, self.save)
        training = bool(self._target.training)
        recorder.begin(first, not training, module.named_parameters if module is not None else None)
        if training:
            self._optimizers.listener = self._optimizer_listener(recorder, module)
        call = form if self.job.form == "eager" else self._guarded(form)
        return kind(module if module is not None else original, call, recorder)

    def _guarded(self, form: forms.Form) -> Callable[..., Any]:
        """Return the form so that its first failure is the result, and ends the script."""

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return form(*args, **kwargs)
            except Exception as error:
                self.fail(error)
                raise StopScript from error

        return call

    def _optimizer_listener(self, recorder: Recorder, module: Any) -> Callable[[Any, int], None]:
        """Return what ends a step at each step of the first optimizer that holds one of the module's parameters."""
        parameters = {id(parameter) for parameter in module.parameters()}
        chosen: list[int] = []

        def stepped(optimizer: Any, count: int) -> None:
            held = (id(parameter) for group in optimizer.param_groups for parameter in group["params"])
            if not chosen and not parameters.isdisjoint(held):
                chosen.append(id(optimizer))
                recorder.begin(count, False, module.named_parameters)
            if chosen and chosen[0] == id(optimizer):
                recorder.advance()

        return stepped


def run_job(path: str) -> int:
    """Run one form; returns the script's exit code."""
    job = Job.load(Path(path))
    _seed(job)
    session = Session(job)
    ended, code = "finished", 0
    try:
        script = Script.find(job.script, job.is_module)
        script.run(script.enter(job.arguments), job.target.function, session.decorate)
    except StopScript:
        ended = "stopped"
    except ScriptError as error:
        print(f"tracelens capture: {error}", file=sys.stderr)
        ended, code = "usage", 2
    except SystemExit as error:
        ended, code = "exit", _exit_code(error)
    except BaseException as error:
        ended, code = "raised", _show(error)
        session.fail(error)
    session.close(ended, code)
    return code


def _seed(job: Job) -> None:
    random.seed(job.seed)
    torch.manual_seed(job.seed)  # pyright: ignore[reportUnknownMemberType]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(job.seed % 2**32)
    if job.fallback_random:
        torch_private.use_eager_random()


def _exit_code(error: SystemExit) -> int:
    """Return the code that Python would exit with, having printed what it would print."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> int:
    """Print the traceback as the plain script would; returns its exit code."""
    sys.stdout.flush()
    shown = error.with_traceback(own_traceback(error.__traceback__))
    sys.excepthook(type(shown), shown, shown.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _defined(kind: type[Any]) -> str | None:
    """Return `file:line` of a class's forward."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else None
