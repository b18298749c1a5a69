"""Why a window holds no device work: for several reasons, with a remedy each."""

from __future__ import annotations

from tracelens.analysis import recording
from tracelens.analysis.extent import recorded_end
from tracelens.analysis.results import Steps
from tracelens.model.events import SUBMITS, Category, Trace, among
from tracelens.model.units import duration


def why_nothing_ran(trace: Trace, steps: Steps) -> str:
    """Why a device ran nothing in the window, and what to do."""
    events, window = trace.events, steps.window
    if len(window.tiles) and window.tiles[0, 0] >= recorded_end(trace):
        return (
            f"the range lies outside the recording, which lasts {duration(recorded_end(trace))}; choose another range"
        )
    if events.device_work().any():
        return "no device work in this window; choose another step, range or device"
    if recording.losses(trace):
        return "no device work in what is left of the file; let the profiler finish writing, then copy it whole"
    if strange := _why_unreadable(trace):
        return strange
    calls = events.category == Category.RUNTIME
    if among(events.role[calls], SUBMITS).any():
        return (
            "work was launched but no kernel recorded (as with a profiler that collects only ranges or counters); "
            "record with torch.profiler and ProfilerActivity.CUDA or XPU, with no other profiler attached"
        )
    if calls.any():
        return "the device ran nothing while the trace was recorded; record at least three steps of the workload"
    if trace.stamp:
        return "a trace of the CPU only: the captured step used no GPU; capture it where it runs on one"
    denied = "; if it was, the driver keeps its records from users: NVreg_RestrictProfilingToAdminUsers=0 gives them"
    return "a trace of the CPU only; record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] (or XPU)" + (
        denied if trace.devices else ""
    )


def _why_unreadable(trace: Trace) -> str:
    """That a file holds nothing, or events of no known category; "" for others."""
    complete = trace.events.complete()
    if not complete.any():
        return (
            "the file holds no event with a duration; give the file that export_chrome_trace wrote after the recording"
        )
    if among(trace.events.category[complete], (Category.OTHER, Category.SPAN)).all():
        return (
            "no event says what it is (its category, cat): the file was written or rewritten by another tool; give "
            "the file that export_chrome_trace wrote"
        )
    return ""
