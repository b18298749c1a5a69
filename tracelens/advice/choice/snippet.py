"""The few lines of torch code that apply a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracelens.model.forms import NOT_EAGER

LONGEST_NAME: Final = 22
"""Characters of a module's class in a line of code."""

COMPILE: Final = """\
compiled = torch.compile(step{options})  # keep dtypes and devices stable
for batch in warm_up_batches:  # compiles; leave it out of any timing
    compiled(*batch)
"""

REDUCE_OVERHEAD: Final = """\
compiled = torch.compile(step, mode="reduce-overhead"{options})
for batch in batches:
    torch.compiler.cudagraph_mark_step_begin()
    output = compiled(*batch)  # clone what must outlive the next step
"""

DYNAMIC: Final = """\
# every new shape records a graph of its own: pad batches to a few sizes
"""

CAPTURE: Final = """\
static = [x.clone() for x in example_inputs]
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):  # warm up on a side stream
    for _ in range(3):
        {step}(*static)
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    output = {step}(*static)
for batch in batches:
    for buffer, x in zip(static, batch, strict=True):
        buffer.copy_(x)  # same shape and dtype, never broadcast
    graph.replay()  # overwrites output
"""

COMPILE_FIRST: Final = """\
compiled = torch.compile({step})
for _ in range(3):  # compile before the capture
    compiled(*example_inputs)
"""

MODULE: Final = """\
# as measured: {module} alone; the rest of the step stays as it is
"""

MODULE_COMPILE: Final = """\
model = torch.compile(model{options})  # its first calls compile
"""

MODULE_REDUCE_OVERHEAD: Final = """\
model = torch.compile(model, mode="reduce-overhead")
for batch in batches:
    torch.compiler.cudagraph_mark_step_begin()
    ...  # the step; clone outputs of model that must outlive the next
"""

GRAPHED: Final = """\
# its forward and its backward pass become a graph each
model = torch.cuda.make_graphed_callables({model}, example_inputs)
"""

CACHED_CASTS: Final = """\
# the graphs need torch.autocast(..., cache_enabled=False)
"""

TRAINING: Final = """\
def step(inputs, target):
    {owner}.zero_grad(set_to_none=True)
{forward}    {loss}.backward()
{update}    return loss

"""

FORWARD: Final = """\
    loss = loss_function(model(inputs), target)
"""

AUTOCAST: Final = """\
    with torch.autocast("cuda", dtype={dtype}):  # with your own arguments
        loss = loss_function(model(inputs), target)
"""

SCALER_STEP: Final = """\
    scaler.step(optimizer)
    scaler.update()
"""

AUTOCAST_STAYS: Final = """\
# step keeps its autocast
"""

SCALER_STAYS: Final = """\
# step keeps its autocast and its GradScaler
"""

FOUND_INF: Final = """\
# fused: found_inf of the GradScaler is read on the device, not by .item()
"""

SCALER_OUTSIDE: Final = """\
# without fused=True the GradScaler reads found_inf by .item(): call
# scaler.step(optimizer) and scaler.update() after each warm-up and replay
"""

WARM_UP: Final = """\
# warm-up calls are real optimizer steps: they change the weights; restore
# weights and optimizer state after them where that matters
"""

CAPTURABLE: Final = frozenset({"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD", "RMSprop", "Rprop"})
"""Optimizers of torch.optim that take capturable, without which a capture refuses their step."""
FUSED: Final = frozenset({"Adam", "AdamW", "SGD"})
"""Those that take fused, with which they read a GradScaler's found_inf on the device."""


@dataclass(frozen=True, slots=True)
class Target:
    """The step that the code is for."""

    training: bool = False
    optimizer: str | None = None
    """Class of its optimizer."""
    changing_shapes: bool = False
    scaled: bool = False
    """A GradScaler scales its loss, so autocast is on as well."""
    autocast: bool = False
    module: str = ""
    """Class of the module that a run measured in the forms; "" where it was the whole step, or nothing was."""


def target_of(repeated: Mapping[str, Any] | None) -> Target:
    """The step as a run says what was repeated in it: a function, which is all of it, or a module."""
    kind = repeated.get("kind") if repeated else None
    if repeated is None or kind not in ("module", "training_step"):
        return Target()
    name = str(repeated.get("name")).rpartition(".")[2]
    known = name.isidentifier() and len(name) <= LONGEST_NAME
    return Target(training=kind == "training_step", module=name if known else "the module")


def code(verdict: str, variant: str | None, target: Target) -> str:
    """Torch code that applies a verdict to a step; "" for neither and abstain."""
    if target.module and verdict in NOT_EAGER:
        return MODULE.format(module=target.module) + _of_module(verdict, variant, target)
    stays = SCALER_STAYS if target.scaled else AUTOCAST_STAYS if target.autocast else ""
    if verdict == "compile":
        return stays + COMPILE.format(options=", dynamic=True" if target.changing_shapes else "")
    if verdict == "replay":
        return (_training(target) or stays) + CAPTURE.format(step="step")
    if verdict == "both" and variant == "reduce-overhead":
        return stays + (DYNAMIC if target.changing_shapes else "") + REDUCE_OVERHEAD.format(options="")
    if verdict == "both":
        return (_training(target) or stays) + COMPILE_FIRST.format(step="step") + CAPTURE.format(step="compiled")
    return ""


def _of_module(verdict: str, variant: str | None, target: Target) -> str:
    """The same for a module, called by a step that stays as it is."""
    if verdict == "compile":
        return MODULE_COMPILE.format(options=", dynamic=True" if target.changing_shapes else "")
    if verdict == "both" and variant == "reduce-overhead":
        return (DYNAMIC if target.changing_shapes else "") + MODULE_REDUCE_OVERHEAD
    if target.training:
        autocast = CACHED_CASTS if target.autocast else ""
        return autocast + GRAPHED.format(model="model" if verdict == "replay" else "torch.compile(model)")
    first = "" if verdict == "replay" else COMPILE_FIRST.format(step="model")
    return first + CAPTURE.format(step="model" if verdict == "replay" else "compiled")


def _training(target: Target) -> str:
    """The whole training step as one function, as a capture needs it."""
    if not target.training:
        return ""
    if target.scaled:
        return _scaled(target.optimizer or "")
    forward = AUTOCAST.format(dtype="dtype") if target.autocast else FORWARD
    if target.optimizer is None:
        return TRAINING.format(owner="model", forward=forward, loss="loss", update="")
    step = TRAINING.format(owner="optimizer", forward=forward, loss="loss", update="    optimizer.step()\n")
    return _capturable(target.optimizer) + step + WARM_UP


def _capturable(optimizer: str) -> str:
    if optimizer not in CAPTURABLE:
        return ""
    fused = " (fused=True works with it)" if optimizer in FUSED else ""
    return f"# {optimizer}: keep your own arguments; add capturable=True{fused}\n"


def _scaled(optimizer: str) -> str:
    """The step with its GradScaler: whole where the optimizer can read found_inf on the device."""
    update = SCALER_STEP if optimizer in FUSED else ""
    forward = AUTOCAST.format(dtype="torch.float16")
    step = TRAINING.format(owner="optimizer", forward=forward, loss="scaler.scale(loss)", update=update)
    if optimizer not in FUSED:
        return SCALER_OUTSIDE + step
    capturable = ", capturable=True" if optimizer in CAPTURABLE else ""
    added = f"# {optimizer}: keep your own arguments; add fused=True{capturable}\n"
    return added + FOUND_INF + step + WARM_UP
