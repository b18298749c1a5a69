"""The few lines of torch code that apply a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
compiled = torch.compile(step)
for _ in range(3):  # compile before the capture
    compiled(*example_inputs)
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


def snippet(verdict: str, variant: str | None, *, training: bool, optimizer: str | None = None) -> str:
    """Torch code that applies a verdict; "" for neither and abstain."""
    return code(verdict, variant, Target(training, optimizer))


def code(verdict: str, variant: str | None, target: Target) -> str:
    """Torch code that applies a verdict to a step; "" for neither and abstain."""
    stays = SCALER_STAYS if target.scaled else AUTOCAST_STAYS if target.autocast else ""
    if verdict == "compile":
        return stays + COMPILE.format(options=", dynamic=True" if target.changing_shapes else "")
    if verdict == "replay":
        return (_training(target) or stays) + CAPTURE.format(step="step")
    if verdict == "both" and variant == "reduce-overhead":
        return stays + (DYNAMIC if target.changing_shapes else "") + REDUCE_OVERHEAD.format(options="")
    if verdict == "both":
        return (_training(target) or stays) + COMPILE_FIRST + CAPTURE.format(step="compiled")
    return ""


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
