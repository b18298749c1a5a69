"""What stands in for the repeated call."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
import torch
from torch import nn

from capture.child import end_threads_quietly
from capture.region import ModuleRegion, Region, StopScript


class Still:
    """A recorder that records nothing."""

    def is_away(self) -> bool:
        return False

    def before_call(self) -> None: ...

    def after_call(self, began: object, output: object) -> None: ...


def test_copies_of_an_intercepted_module_are_plain() -> None:
    module = nn.Linear(2, 2)
    calls: list[int] = []
    forward = module.forward

    def counting(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return forward(x)

    ModuleRegion(module, counting, Still()).install()
    copied, pickled = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    with torch.no_grad():
        copied.weight.zero_()
    x = torch.ones(2)
    assert torch.equal(copied(x), copied.bias)
    assert torch.equal(pickled(x), module(x))
    assert len(calls) == 1
    assert list(module.state_dict()) == ["weight", "bias"]


def test_calls_from_within_and_from_another_thread_meanwhile_pass_through() -> None:
    calls: list[str] = []

    def form(depth: int) -> None:
        calls.append("form")
        if depth:
            region(depth - 1)
            thread = threading.Thread(target=region, args=(0,))
            thread.start()
            thread.join()

    region = Region(lambda depth: calls.append("plain"), form, Still())
    region(1)
    region(0)
    assert calls == ["form", "plain", "plain", "form"]


def test_a_stopped_thread_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: shown.append(args.exc_type))
    end_threads_quietly()

    def end(cause: BaseException) -> None:
        raise cause

    for cause in (StopScript(), ValueError()):
        thread = threading.Thread(target=end, args=(cause,))
        thread.start()
        thread.join()
    assert shown == [ValueError]
