"""What is recorded: the form object of the manifest and of a trace's stamp."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA_VERSION = 1
FORMS = ("eager", "compile", "replay", "both")
VARIANTS = {"both": ("reduce-overhead", "manual")}
"""A form with several ways to run it; the faster one is reported."""

Row = dict[str, Any]


@dataclass
class FormRecord:
    """One form as measured; None where unknown. Times in ms unless the name says seconds.

    `step_ms` is the median over chunks of consecutive steps, of a chunk's time per step in the steady state; `low` and
    `high` are the fastest and the slowest chunk. `event_step_ms` and `region_ms` are medians over single steps of one
    more chunk. All by device events on a CUDA device, by the wall clock elsewhere. `wall_ms` is step_ms by the wall
    clock, with the filling and the draining of the device's queue at the ends of each chunk.
    """

    step_ms: float | None = None
    low: float | None = None
    high: float | None = None
    source: str = "measured"
    variant: str | None = None
    region_ms: float | None = None
    chunk_ms: list[float] | None = None
    wall_ms: float | None = None
    event_step_ms: float | None = None
    steps: int | None = None
    warmup_steps: int | None = None
    traced_steps: int | None = None
    blockers: list[Row] = field(default_factory=list[Row])
    setup_s: float | None = None
    peak_mib: float | None = None
    reserved_mib: float | None = None
    traced_over_untraced: float | None = None
    outputs: str = "unchecked"
    outputs_note: str | None = None
    largest_error: float | None = None
    error_over_tolerance: float | None = None
    random: bool | None = None
    """Whether eager draws random numbers in the region; then others are compared drawing the same ones."""
    error: str | None = None
    trace: str | None = None
    log: str | None = None
    graph_breaks: list[Row] | None = None
    recompiles: list[Row] | None = None
    cudagraph_skips: list[Row] | None = None
    compiler_graphs: int | None = None
    triton_kernels: int | None = None
    syncs: list[Row] | None = None
    cuda_graphs: int | None = None
    copied_outputs: int | None = None
    """Outputs copied after each replay, because the script still held an earlier one."""
    capture_allocations: int | None = None
    """Requests for memory while a graph was captured; what they get belongs to the graph for good."""
    graph_mib: float | None = None
    """Memory that the captures reserved from the device."""
    notes: list[str] = field(default_factory=list[str])
    """What a reader must know of the measurement, a sentence each."""

    def as_json(self) -> Row:
        """Return the object as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Row) -> FormRecord:
        """Rebuild a record that `as_json` wrote."""
        return cls(**row)


def blocked(blocker: str, message: str, where: str | None = None) -> FormRecord:
    """Return the record of a form that cannot run, with the prerequisite that failed."""
    row: Row = {"id": blocker, "message": message, "where": where, "per_step": None}
    return FormRecord(blockers=[row], error=message)


def counted(rows: list[tuple[str, str | None]], key: str) -> list[Row]:
    """Count equal (text, `file:line`) rows, the most frequent first; the text goes under `key`."""
    return [{key: text, "where": where, "count": count} for (text, where), count in Counter(rows).most_common()]
