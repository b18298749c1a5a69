"""What is read of PyTorch beyond its public interface, and out of its errors."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from capture import failure, torch_private
from capture.forms.outputs import Outputs


def test_prerequisites_are_told_from_the_words_of_the_error() -> None:
    def of(text: str) -> str:
        return failure.prerequisite(RuntimeError(text))

    assert of("CUDA error: operation not permitted when stream is capturing") == "sync"
    assert of("Cannot copy between CPU and CUDA tensors during CUDA graph capture unless pinned") == "host_copy"
    assert of("operation would make the legacy stream depend on a capturing blocking stream") == "default_stream"
    assert of("CUDA out of memory. Tried to allocate") == "memory"
    assert of("something else") == "error"


def test_private_interfaces_degrade_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch._dynamo.utils", "torch._dynamo.guards", "torch.profiler._utils", "torch._logging"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "torch.multiprocessing.reductions", None)
    assert torch_private.compiled_graphs() is None
    assert torch_private.storage_watch(torch.ones(1)) is None
    assert torch_private.CompilerLog().rows("graph_breaks") is None
    torch_private.init_profiler_for_cuda_graphs()
    outputs = Outputs()
    outputs.watch([torch.ones(1)])
    outputs.look()
    assert outputs.held, "what cannot be known is copied"


def test_compile_workers_end_before_anything_is_timed() -> None:
    workers = importlib.import_module("torch._inductor.async_compile")
    with importlib.import_module("torch._inductor.config").patch(compile_threads=2):
        pool = workers.AsyncCompile.process_pool()
        assert pool.process.poll() is None
        torch_private.stop_compile_workers()
        assert pool.process.poll() is not None
        again = workers.AsyncCompile.process_pool()
        assert again.submit(int, "7").result() == 7, "a later compilation has workers of its own"
        torch_private.stop_compile_workers()
        assert again.process.poll() is not None


def test_a_compile_worker_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = importlib.import_module("torch._inductor.async_compile")
    hung = SimpleNamespace(process=subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
    hung.shutdown = hung.process.wait
    monkeypatch.setattr(workers, "_pool_set", [hung])
    monkeypatch.setattr(workers, "after_fork", lambda: None)
    torch_private.stop_compile_workers()
    assert hung.process.poll() == -signal.SIGKILL


def test_generated_code_is_not_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure.is_users("/home/me/train.py")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/scratch/cache")
    assert not failure.is_users("/scratch/cache/43/c43.py")
    assert not failure.is_users(torch.__file__)
