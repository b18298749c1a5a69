"""The few lines of torch code that apply a verdict."""

from __future__ import annotations

COMPILE = """\
compiled = torch.compile(step)             # keep shapes and dtypes stable
for batch in warm_up_batches:              # compiles; leave it out of any timing
    compiled(*batch)
"""

REDUCE_OVERHEAD = """\
compiled = torch.compile(step, mode="reduce-overhead")
for batch in batches:
    torch.compiler.cudagraph_mark_step_begin()
    output = compiled(*batch)              # clone what must outlive the next step
"""

CAPTURE = """\
static = [x.clone() for x in example_inputs]
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):            # warm up on a side stream
    for _ in range(3):
        {step}(*static)
torch.cuda.current_stream().wait_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    output = {step}(*static)
for batch in batches:
    for buffer, x in zip(static, batch, strict=True):
        buffer.copy_(x)                    # same shape and dtype, never broadcast
    graph.replay()                         # overwrites output
"""

TRAINING = """\
optimizer = torch.optim.AdamW(model.parameters(), fused=True, capturable=True)
optimizer.zero_grad(set_to_none=True)      # inside the step, with backward and optimizer.step()
"""


COMPILE_FIRST = """\
compiled = torch.compile(step)
for _ in range(3):                         # compile before the capture
    compiled(*example_inputs)
"""


def snippet(verdict: str, variant: str | None, *, training: bool) -> str:
    """Torch code that applies a verdict; "" for neither and abstain."""
    head = TRAINING if training else ""
    if verdict == "compile":
        return COMPILE
    if verdict == "replay":
        return head + CAPTURE.format(step="step")
    if verdict == "both" and variant == "reduce-overhead":
        return REDUCE_OVERHEAD
    if verdict == "both":
        return head + COMPILE_FIRST + CAPTURE.format(step="compiled")
    return ""
