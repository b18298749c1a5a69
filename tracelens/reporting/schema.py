"""The report document, schema_version 1: the one object that every output renders.

Times in `_ms` are floats, times in `_ns` integers. Null is what the trace does not say. Points in time
(`intervals_ns`, `start_ns`) are on the file's own clock: `ts` in microseconds x 1000. To get ns after the start of
the trace, as `--range` takes them, subtract `trace.base_ns`.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

SCHEMA_VERSION: Final = 1
COLUMNS: Final = {
    "kernels": ("name", "kind", "origin", "count", "total_ns", "median_ns", "share", "example"),
    "operators": ("name", "count", "host_ns", "device_ns", "launches", "where", "example"),
    "gaps": ("handle", "start_ns", "ns", "class", "part", "before", "after", "operator", "where"),
    "syncs": ("handle", "call", "ns", "busy_overlap_ns", "saving_ns", "operator", "where"),
    "launches": ("handle", "call", "ns", "latency_ns", "kernels", "operator", "where"),
}
"""The columns of each table. `host_ns` is an operator's own time; `start_ns` and `ns` of a gap are of what the window
has of it; `saving_ns` is [low, high]. Rows are ranked by one column: kernels by total_ns, operators by host_ns, waits
by the high end of saving_ns, the others by ns."""
SHOWN_ROWS: Final = 5
"""Rows of each table in text and Markdown, unless asked otherwise."""

Row = dict[str, Any]
"""One row of a table, with the columns of the table in order."""


class Tool(TypedDict):
    """Who wrote the document."""

    name: str
    version: str


class DeviceEntry(TypedDict):
    """A device and the time it ran something, over the whole trace and all its streams."""

    id: int
    name: str
    busy_ns: int


class RepairEntry(TypedDict):
    """One kind of damage that was mended while reading; `offset` is the first place, in decoded bytes.

    `in_steps` says how many are in events of the counted steps; null where that is not known."""

    kind: str
    count: int
    example: str
    offset: int
    in_steps: int | None


class TraceEntry(TypedDict):
    """The file, and how the step in it runs already."""

    path: str
    bytes: int
    events: int
    base_ns: int
    form: str
    vendor: str
    devices: list[DeviceEntry]
    rank: int | None
    world_size: int | None
    repairs: list[RepairEntry]


class RunEntry(TypedDict):
    """The run directory that was opened. `measured` names the forms it tried, `traces` the files it has of them.

    `notes` holds what a reader must know of the measured forms, a sentence each."""

    path: str
    id: str | None
    command: list[str]
    complete: bool
    target: dict[str, str | None]
    environment: dict[str, Any]
    measured: list[str]
    traces: dict[str, str]
    notes: list[str]


class CheckEntry(TypedDict):
    """One reason to trust or distrust the trace."""

    id: str
    passed: bool
    value: float | None
    threshold: float | None
    message: str


class TrustEntry(TypedDict):
    """Whether the trace can carry an answer: level "ok", "degraded" or "unusable"."""

    level: str
    checks: list[CheckEntry]


class Spread(TypedDict):
    """Length of the counted steps in the trace, under the profiler; null where the window has no steps."""

    median: float | None
    min: float | None
    max: float | None


class WindowEntry(TypedDict):
    """The stretch of the trace that is judged."""

    kind: str
    name: str
    steps: int | None
    step_ms: Spread
    device: int
    intervals_ns: list[list[int]]
    notes: list[str]


class ClassEntry(TypedDict):
    """One class of the attribution and its parts."""

    ns: int
    parts: dict[str, int]


class AttributionEntry(TypedDict):
    """Where the window went: the classes sum to window_ns, the parts to their class, exactly."""

    window_ns: int
    classes: dict[str, ClassEntry]


class BlockerEntry(TypedDict):
    """What prevents a form."""

    id: str
    message: str
    where: str | None
    per_step: float | None


class PredictedEntry(TypedDict):
    """A prediction beside a measurement."""

    step_ms: float
    low: float
    high: float


class TermsEntry(TypedDict):
    """What a predicted time is made of: `formula` gives it in ns from the `values`, which a name in _ns has in ns."""

    formula: str
    decided_by: str
    values: dict[str, int | float]


class FormEntry(TypedDict):
    """How long a step takes in one form."""

    step_ms: float | None
    low: float | None
    high: float | None
    source: str
    variant: str | None
    region_ms: float | None
    steps: int | None
    blockers: list[BlockerEntry]
    predicted: PredictedEntry | None
    terms: TermsEntry | None
    setup_s: float | None
    break_even_steps: float | None
    peak_mib: float | None
    reserved_mib: float | None
    traced_over_untraced: float | None
    outputs: str
    largest_error: float | None
    error: str | None


class RangeEntry(TypedDict):
    """A number with what it may as well be."""

    mid: float
    low: float
    high: float


class FixEntry(TypedDict):
    """A repair to make before a form can run."""

    blocker: str
    where: str | None
    advice: str


class AfterFixEntry(TypedDict):
    """The best form once the repairs are made."""

    verdict: str
    step_ms: float
    low: float
    high: float
    terms: TermsEntry | None


class RecommendationEntry(TypedDict):
    """The verdict: "compile", "replay", "both", "neither" or "abstain".

    `decided` is false where it is but a guess, more likely wrong than right, and with "abstain": do not act on it.
    Where it is but a guess, yet surely a form pays, `among` has the forms of which one is the best. The confidence
    is the product of the `factors`: what the ranges tell, and what each doubt leaves of that."""

    verdict: str
    decided: bool
    among: list[str]
    speedup: RangeEntry | None
    confidence: float
    factors: dict[str, float]
    summary: str
    snippet: str
    fix_first: list[FixEntry]
    after_fix: AfterFixEntry | None
    evidence: list[str]


class FindingEntry(TypedDict):
    """One thing worth knowing about the step."""

    rule: str
    severity: str
    title: str
    saving_ms: float | None
    evidence: list[str]
    advice: str


class Document(TypedDict):
    """The whole report; `run` is null for a trace alone.

    `table_rows` counts the rows of each table before any limit was applied."""

    schema_version: int
    tool: Tool
    run: RunEntry | None
    trace: TraceEntry
    trust: TrustEntry
    window: WindowEntry
    attribution: AttributionEntry
    forms: dict[str, FormEntry]
    recommendation: RecommendationEntry
    findings: list[FindingEntry]
    tables: dict[str, list[Row]]
    table_rows: dict[str, int]
