"""The parts on their own."""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from capture import failure, torch_private
from capture.campaign import Campaign, exit_code, fastest
from capture.child import end_threads_quietly
from capture.compare import Samples, compare, error, norm, parameters, perturb
from capture.discover import Discovery, OptimizerSteps
from capture.forms.allocations import Allocations
from capture.forms.inputs import Inputs
from capture.forms.outputs import Outputs
from capture.forms.signature import put_together, refuse_host_inputs, signature, take_apart
from capture.job import LEAST_STEPS, Job, Plan, Target
from capture.launcher import Outcome
from capture.manifest import RunDirectory, RunDirectoryError
from capture.ranks import Rank, rendezvous, this_rank
from capture.records import FormRecord, counted
from capture.region import ModuleRegion, Region, StopScript
from capture.stamping import publish_trace
from capture.tape import Tape


@given(st.integers(LEAST_STEPS, 2000), st.integers(1, 50), st.integers(1, 500), st.integers(1, 20))
def test_a_fitted_plan_fits_and_keeps_every_phase(steps: int, warmup: int, measure: int, active: int) -> None:
    plan = Plan(warmup, measure, active).fitted(steps)
    assert plan.steps <= steps
    assert min(plan.warmup, plan.measure, plan.active, plan.profiler_warmup) >= 1


def test_orders_survive_the_way_to_the_process(tmp_path: Path) -> None:
    job = Job("both", "manual", "a.py", False, ("x", "1"), tmp_path, tmp_path / "o.pt", "r", target=Target(ordinal=2))
    job.save(tmp_path / "job.json")
    assert Job.load(tmp_path / "job.json") == job


def play(tape: Tape, limit: int | None = None) -> bytes:
    """Read one playback, to the end or so many bytes of it."""
    source, sink = os.pipe()
    playback = tape.play(sink)
    got = b""
    while limit is None or len(got) < limit:
        data = os.read(source, 65536 if limit is None else limit - len(got))
        if not data:
            break
        got += data
    os.close(source)
    playback.stop()
    return got


def test_every_form_reads_the_whole_input(tmp_path: Path) -> None:
    data = os.urandom(300_000)
    path = tmp_path / "input"
    path.write_bytes(data)
    with path.open("rb") as file:
        tape = Tape(file.fileno())
        assert play(tape, 10) == data[:10]
        assert play(tape) == data
        assert play(tape) == data


def test_playback_ends_although_the_terminal_says_nothing() -> None:
    source, sink = os.pipe()
    tape = Tape(source)
    child_source, child_sink = os.pipe()
    began = time.monotonic()
    tape.play(child_sink).stop()
    assert time.monotonic() - began < 5
    assert os.read(child_source, 1) == b""
    for descriptor in (source, sink, child_source):
        os.close(descriptor)


def test_comparison_measures_against_the_largest_value() -> None:
    assert error(torch.tensor([1.0, 1000.0]), torch.tensor([1.5, 1000.0])) == pytest.approx(5e-4)
    assert error(torch.zeros(3), torch.zeros(3)) == 0
    assert error(torch.zeros(0), torch.zeros(0)) == 0
    assert error(torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 5])) == 0.25
    assert error(torch.ones(2), torch.ones(3)) == float("inf")
    assert error(torch.ones(2), torch.ones(2).double()) == float("inf")
    nan, inf = float("nan"), float("inf")
    assert error(torch.tensor([nan, 1.0]), torch.tensor([1.0, 1.0])) == inf
    assert error(torch.tensor([nan, 1.0, inf]), torch.tensor([nan, 1.0, inf])) == 0
    assert error(torch.tensor([inf]), torch.tensor([-inf])) == inf


def samples(outputs: dict[str, torch.Tensor], after: float | None = None) -> Samples:
    found = Samples()
    found.outputs = outputs
    if after is not None:
        found.before, found.after = {"w": torch.zeros(4)}, {"w": torch.full((4,), after)}
    return found


def test_verdict_names_the_worst_tensor() -> None:
    expected, found = {"a": torch.ones(2), "b": torch.ones(2)}, {"a": torch.ones(2), "b": torch.zeros(2)}
    verdict = compare(samples(expected), samples(found))
    assert (verdict.outputs, verdict.largest_error) == ("differ", 1.0)
    assert "b:" in verdict.note
    half = {"a": torch.ones(2).bfloat16()}
    assert compare(samples(half), samples({"a": half["a"] * 1.01})).outputs == "match"
    assert compare(samples(half), samples({"a": torch.ones(3)})).largest_error is None
    assert compare(samples(half), samples({})).outputs == "unchecked"


def test_whole_numbers_that_differ_are_counted_and_told_from_values_that_do() -> None:
    chosen, other = torch.tensor([1, 2, 3, 4]), torch.tensor([1, 2, 3, 9])
    alone = compare(samples({"a": chosen}), samples({"a": other}))
    assert (alone.outputs, alone.note[:36]) == ("differ", "a: 1 of 4 whole numbers differ; retu")
    values, off = torch.ones(2), torch.zeros(2)
    tie = compare(samples({"a": chosen, "b": values}), samples({"a": other, "b": values}))
    assert (tie.outputs, "near-ties" in tie.note) == ("differ", True)
    wrong = compare(samples({"a": chosen, "b": values}), samples({"a": other, "b": off}))
    assert (wrong.outputs, "near-ties" in wrong.note) == ("differ", False)


def test_training_is_compared_by_what_it_changed() -> None:
    same = {"loss": torch.ones(1)}
    assert compare(samples(same, 1.0), samples(same, 1.01)).outputs == "match"
    lost = compare(samples(same, 1.0), samples(same, 0.5))
    assert (lost.outputs, lost.largest_error) == ("differ", 0.5)
    assert lost.note.startswith("parameters")


def trained(perturbed: bool) -> Samples:
    """Ten steps of Adam, of which the bias before the normalisation sees nothing but rounding."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))
    if perturbed:
        perturb(model.parameters())
    optimizer, found = torch.optim.Adam(model.parameters(), lr=1e-3), Samples()
    found.before = parameters(model.named_parameters())
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.randn(16, 32)).square().mean().backward()
        optimizer.step()
    found.after = parameters(model.named_parameters())
    return found


def test_a_rounding_carries_as_far_as_the_training_lets_it() -> None:
    plain, moved = trained(False), trained(True)
    assert norm(plain.before, moved.before) < 1e-5
    bias = {"0.bias": moved.after["0.bias"]}
    assert norm(plain.after, bias) > 0.1 * norm(plain.before, bias)
    state = torch.get_rng_state()
    perturb([torch.ones(3, dtype=torch.half), torch.ones(3, dtype=torch.long)])
    assert torch.equal(state, torch.get_rng_state())


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


def discovered(run: Callable[[], object], target: Target | None = None) -> list[tuple[nn.Module, Target, int]]:
    found: list[tuple[nn.Module, Target, int]] = []
    optimizers = OptimizerSteps()
    discovery = Discovery(target or Target(), optimizers, lambda *what: found.append(what))
    original = nn.Module.__call__
    try:
        run()
    finally:
        discovery.stop()
        optimizers.stop()
    assert nn.Module.__call__ is not original
    return found


def test_largest_repeated_module_is_found_not_the_loss_or_a_transform() -> None:
    flip, model, loss = nn.Flatten(0), nn.Linear(4, 4), nn.MSELoss()

    def run() -> None:
        for _ in range(5):
            for _ in range(3):
                flip(torch.ones(1))
            loss(model(torch.ones(4)).detach(), torch.ones(4))

    (module, target, calls), *rest = discovered(run)
    assert rest == []
    assert (module is model, target.ordinal, target.training, calls) == (True, 1, False, 3)


def test_a_kept_call_is_found_once() -> None:
    model = nn.Linear(1, 1)

    def run() -> None:
        kept = model.__call__
        for _ in range(9):
            kept(torch.ones(1))

    assert len(discovered(run)) == 1


def test_training_is_told_by_the_optimizer() -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run() -> None:
        for _ in range(12):
            model(torch.ones(4)).sum().backward()
            if model.weight.grad is not None and _ % 4 == 3:
                optimizer.step()

    (module, target, calls), *_ = discovered(run)
    assert (module is model, target.training, calls) == (True, True, 8)


def test_training_is_told_by_an_optimizer_that_calls_the_model_itself() -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3, lr=0.1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(torch.ones(4)).square().sum()
        loss.backward()
        return loss

    (module, target, _), *_ = discovered(lambda: [optimizer.step(closure) for _ in range(9)])
    assert (module is model, target.training) == (True, True)


def test_a_module_is_taken_once_it_has_its_parameters() -> None:
    model = nn.Sequential(nn.LazyLinear(2))
    (module, target, calls), *_ = discovered(lambda: [model(torch.ones(1, 3)).detach() for _ in range(9)])
    assert (module is model, target.ordinal, calls) == (True, 0, 3)
    assert discovered(lambda: model(torch.ones(1, 3)), Target(ordinal=0, training=False))[0][0] is model


def test_known_target_is_taken_at_its_first_call() -> None:
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    found = discovered(lambda: (first(torch.ones(1)), second(torch.ones(1))), Target(ordinal=1, training=False))
    assert [(module is second, calls) for module, _, calls in found] == [(True, 0)]


def test_outputs_held_at_the_next_call_are_copied() -> None:
    outputs = Outputs()
    tensor = torch.ones(3)
    outputs.watch([tensor])
    outputs.look()
    assert outputs.held
    assert outputs.released([tensor])[0] is not tensor


def test_a_view_of_an_output_counts_as_held() -> None:
    outputs, tensor = Outputs(), torch.ones(3)
    view = tensor[1:]
    outputs.watch([tensor])
    del tensor
    outputs.look()
    assert outputs.held
    del view


def test_outputs_let_go_are_not_copied() -> None:
    outputs, tensor = Outputs(), torch.ones(3)
    outputs.watch([tensor])
    del tensor
    outputs.look()
    assert not outputs.held


def test_inputs_that_stay_are_read_in_place_and_others_are_copied_in() -> None:
    inputs, stays = Inputs(), torch.zeros(2)
    for step in range(3):
        with inputs.observed([stays, torch.full((2,), float(step)), 5]):
            stays.add_(1)
    static = inputs.make_static([stays, torch.full((2,), 9.0), 5])
    assert static[0] is stays
    assert static[2] == 5
    assert inputs.fill([stays, torch.full((2,), 7.0), 5])
    assert static[1].tolist() == [7.0, 7.0]
    assert not inputs.fill([torch.zeros(2), torch.zeros(2), 5]), "the script's own tensor is never a buffer"


def test_signature_tells_what_a_graph_depends_on() -> None:
    def key(*args: object, **kwargs: object) -> Hashable:
        return signature(*take_apart(args, kwargs), None)

    x = torch.ones(2, 3)
    assert key(x) == key(torch.zeros(2, 3))
    others = [key(x.double()), key(x[:1]), key(x, 1), key(x, 2), key(y=x), key([x]), key(x.clone().requires_grad_())]
    assert len({key(x), *others}) == 1 + len(others)
    with torch.no_grad():
        assert key(torch.zeros(2, 3)) != others[0]
    args, kwargs = put_together(*take_apart(([x], 3), {"y": x}))
    assert args[1] == 3
    assert kwargs["y"] is x
    with pytest.raises(failure.Blocked, match="is on the cpu"):
        refuse_host_inputs([x])


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


def test_generated_code_is_not_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure.is_users("/home/me/train.py")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/scratch/cache")
    assert not failure.is_users("/scratch/cache/43/c43.py")
    assert not failure.is_users(torch.__file__)


def test_allocations_of_captures_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    record, found = FormRecord(), Allocations()
    with found.counted():
        pass
    found.report(record)
    assert (record.capture_allocations, record.graph_mib) == (None, None)
    stats = iter([(10, 0), (13, 2 << 20), (20, 2 << 20), (21, 3 << 20)])
    keys = "allocation.all.allocated", "reserved_bytes.all.current"
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda: dict(zip(keys, next(stats), strict=True)))
    for _ in range(2):
        with found.counted():
            pass
    found.report(record)
    assert (record.capture_allocations, record.graph_mib) == (4, 3.0)


def test_ranks_meet_on_a_port_of_their_own_at_each_turn() -> None:
    assert this_rank({"RANK": "0", "WORLD_SIZE": "1"}) is None
    assert rendezvous(1, {"MASTER_PORT": "29500"}) == {}
    job = {"RANK": "3", "WORLD_SIZE": "4", "MASTER_PORT": "29500"}
    assert this_rank(job) == Rank(3, 4)
    assert rendezvous(2, job) == {"MASTER_PORT": "29502", "TORCHELASTIC_USE_AGENT_STORE": "False"}


def test_a_rank_leaves_the_files_of_others_alone(tmp_path: Path) -> None:
    for rank in (Rank(1, 12), Rank(11, 12)):
        RunDirectory(tmp_path, [], "r", rank).create(force=False)
    with pytest.raises(RunDirectoryError, match="--force"):
        RunDirectory(tmp_path, [], "s", Rank(1, 12)).create(force=False)
    RunDirectory(tmp_path, [], "s", Rank(1, 12)).create(force=True)
    runs = [json.loads((tmp_path / f"run.rank{rank}.json").read_text())["run"] for rank in (1, 11)]
    assert runs == ["s", "r"]
    with pytest.raises(RunDirectoryError, match="not empty"):
        RunDirectory(tmp_path, [], "r").create(force=False)


def test_the_fastest_right_variant_is_reported() -> None:
    slow, fast, wrong = (FormRecord(step_ms=time) for time in (2.0, 1.0, 0.5))
    wrong.outputs = "differ"
    cannot = FormRecord(error="no")
    assert fastest([slow, fast, wrong, cannot]) is fast
    assert fastest([cannot, wrong]) is wrong
    assert fastest([cannot, FormRecord()]) is cannot


def test_the_commands_exit_code_is_eagers() -> None:
    def code(exit: int, error: str | None = None) -> int:
        return exit_code(Outcome({"finished": True}, exit), FormRecord(error=error))

    assert [code(0), code(3), code(0, "nothing repeats"), code(1, "out of memory")] == [0, 3, 2, 1]
    assert [code(-9, "killed by signal 9"), code(-15)] == [137, 0], "ended by us once it had told all"


def test_a_difference_that_eager_has_of_itself_is_no_difference(tmp_path: Path) -> None:
    job = Job("compile", None, "a.py", False, (), tmp_path, tmp_path / "o.pt", "r")
    campaign = Campaign(job, ("eager",), RunDirectory(tmp_path, [], "r"), 1.0, Tape(0), noise=2.0)
    found = [FormRecord(outputs="differ", outputs_note="a", error_over_tolerance=error) for error in (5.0, 50.0)]
    for record in found:
        campaign._judge(job, record)
    assert [record.outputs for record in found] == ["match", "differ"]
    assert found[0].outputs_note == "a; two eager runs from parameters one rounding apart differ by 2 tolerances"


def test_random_numbers_of_one_rank_are_left_unchecked(tmp_path: Path) -> None:
    job = Job("compile", None, "a.py", False, (), tmp_path, tmp_path / "o.pt", "r", Plan(in_step=True))
    eager = {"record": {"random": True}}
    campaign = Campaign(job, ("eager",), RunDirectory(tmp_path, [], "r"), 1.0, Tape(0), eager=eager)
    record = FormRecord(outputs="differ", error_over_tolerance=50.0)
    campaign._judge(job, record)
    assert record.outputs == "unchecked"
    campaign.eager = {"record": {"random": False}}
    record = FormRecord(outputs="differ", error_over_tolerance=50.0)
    campaign._judge(job, record)
    assert record.outputs == "differ"


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


def test_rows_are_counted() -> None:
    rows = counted([("a", "x:1"), ("b", None), ("a", "x:1")], "reason")
    assert rows == [{"reason": "a", "where": "x:1", "count": 2}, {"reason": "b", "where": None, "count": 1}]


def test_published_trace_carries_the_final_record(tmp_path: Path) -> None:

    job = Job("compile", None, "a.py", False, (), tmp_path, tmp_path / "o.pt", "r7")
    events = [{"name": "triton_poi_0", "cat": "kernel"}, {"name": "triton_poi_0", "cat": "kernel"}]
    text = json.dumps({"traceEvents": events}, indent=2).replace("{\n", '{\n  "tracelens": {"step_ms": 1},\n', 1)
    job.raw_trace.write_text(text)
    record = FormRecord(step_ms=2.5)
    publish_trace(job, record, tmp_path / "compile.pt.trace.json.gz")
    trace = json.loads(gzip.decompress((tmp_path / "compile.pt.trace.json.gz").read_bytes()))
    assert (trace["tracelens"]["step_ms"], trace["tracelens"]["run"]) == (2.5, "r7")
    assert trace["traceEvents"] == events
    assert (record.triton_kernels, record.trace) == (1, "compile.pt.trace.json.gz")


def test_run_directory_is_whole_at_every_moment(tmp_path: Path) -> None:

    directory = RunDirectory(tmp_path / "run", ["tracelens"], "r")
    directory.create(force=False)
    assert json.loads((tmp_path / "run/run.json").read_text())["complete"] is False
    directory.add("eager", FormRecord(step_ms=1.0))
    assert json.loads((tmp_path / "run/run.json").read_text())["forms"]["eager"]["step_ms"] == 1.0
    directory.finish(True)
    with pytest.raises(RunDirectoryError, match="--force"):
        RunDirectory(tmp_path / "run", [], "s").create(force=False)


def test_options_are_read_without_torch() -> None:
    code = "import sys, capture.cli; capture.cli.parser(); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
