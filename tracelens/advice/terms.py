"""What a predicted time is made of: the terms of its formula, and which side or rule decided it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HOST: Final = "host_bound"
DEVICE: Final = "device_bound"


@dataclass(frozen=True, slots=True)
class Terms:
    """A predicted time as it can be redone by hand."""

    formula: str = ""
    """The step in ns: names of values with +, -, *, min and max."""
    decided_by: str = ""
    """One of DECIDED."""
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    """ns (names in _ns), counts and factors, all of TERMS. Those that the formula does not name tell what others are
    of."""

    def told(self, formula: str, by: str = "", **values: float) -> Terms:
        """The terms of a time that is made from this one, for whose formula "{}" stands."""
        return Terms(formula.format(self.formula), by or self.decided_by, {**self.values, **values})

    def __add__(self, other: Terms) -> Terms:
        formula = " + ".join(filter(None, (self.formula, other.formula)))
        return Terms(formula, self.decided_by or other.decided_by, {**self.values, **other.values})


def slower(host: float, device: float) -> str:
    """Which of two times sets the step."""
    return HOST if host > device else DEVICE


BOUND: Final = {
    HOST: "The host takes longer than the device.",
    DEVICE: "The device takes longer than the host.",
    "as_recorded": "The step takes no longer than it was traced.",
}
"""What bounds a predicted time of its own accord."""
RULES: Final = {
    "stays_eager": "The compiler leaves to eager a training step that waits in a loop.",
    "in_turns": "Waits cut the step into pieces too short to gain on the host.",
    "looped": "A loop that waits for the device in its body keeps much of the compiled time.",
    "untraceable": "The compiler leaves recurrent layers to eager.",
    "nothing_fuses": "No kernels can fuse and the device is the limit: compiled, the step takes no less than eager.",
    "copy_awaited": "The compiler makes no CUDA Graphs, as the step waits for a copy from the host inside it.",
    "host_compute": "The compiler makes no CUDA Graphs, as operators of the step compute on the host.",
    "copies_from_host": "The compiler makes no CUDA Graphs, as copies from the host take much of the step.",
}
"""Rules that decide a predicted time instead, which reports say beside it."""
DECIDED: Final = {**BOUND, **RULES}
TERMS: Final = {
    "host_ns": "Host time of a step without the profiler, which the trace's launch calls gauge.",
    "device_ns": "Device work of a step: eager as traced, in a graph with its spacing, compiled with its waits.",
    "waiting_ns": "What host and device wait for each other beyond the slower of them: launch latency, waits.",
    "clocks": "Device time over the traced one once the step has run for long: dense products meet the power limit.",
    "waits_ns": "What collectives of a rank wait for later ranks, which is no part of the job's time.",
    "launched_ns": "Device work that the step launches, as traced, its streams added up.",
    "busy_ns": "Time in which the device was busy with the step's work, its streams as they overlapped in the trace.",
    "recorded_ns": "The step as it was traced, but no shorter than its busiest stream works; at sustained clocks.",
    "eager_ns": "The step in eager mode.",
    "compile_ns": "The step compiled, without graphs.",
    "library_ns": "Device time of library calls and copies, as the compiler makes them: single-precision matrix "
    "products that lose their bias to generated kernels take longer.",
    "generated_ns": "Device time of the generated kernels.",
    "generated_kernels": "Kernels that the compiler generates.",
    "replaced_kernels": "Kernels of the trace that the generated ones replace.",
    "replaced_ns": "Device time of these, as traced.",
    "spacing_ns": "Gaps between the kernels.",
    "pieces": "Stretches of launches that waits for the device leave of the step.",
    "guards_ns": "Host time to check that compiled code fits its inputs, once for each region.",
    "generated_launches_ns": "Host time to launch the generated kernels.",
    "library_calls_ns": "Host time of the operators that stay calls.",
    "parameters_ns": "Host time for tensors that compiled code is given; in training of autograd as well.",
    "left_ns": "Leaving compiled code for work outside, and entering it again.",
    "awaited_ns": "Copies from the host that compiled code waits for.",
    "begun_ns": "The device idle after waits until the host has begun the next piece.",
    "unsure_ns": "What the slower side is expected to take on top, as the host's time varies.",
    "outside_ns": "Host work that every form has: data loading, allocation, Python that runs no operator for long.",
    "apart_ns": "Such work right after a wait, while the device has nothing to do.",
    "unclear_ns": "Stretches without an operator, too short to tell such work from dispatch: the range's high end has "
    "them on top.",
    "graph_launch_ns": "The launch of the graph.",
    "input_copies_ns": "Copies of the inputs to where the graph reads them.",
    "floor_ns": "Least host time of one replay.",
    "entry_ns": "Host time to enter the compiler's graphs: shapes and parameters included.",
    "regions_ns": "Host time to leave and resume between further pieces.",
    "turns_ns": "The device idle while the host enters and resumes pieces.",
    "alternating_ns": "What entering graphs and the device do not overlap in a training step that waits.",
    "broken_ns": "Host time that compiling adds where it does not help.",
    "left_to_eager": "How likely the compiler leaves the pieces to eager, the shorter they are.",
    "skipped_ns": "Time that reduce-overhead adds where it finds that it may not make graphs.",
    "looped_ns": "Least time of a loop that waits in its body: its share of the compiled step.",
    "missed": "Measured over predicted time of the trace's own form, by which this one is scaled as well.",
}
"""Terms of predicted times."""
