"""The classes and parts that every nanosecond of a window falls into."""

from __future__ import annotations

from tracelens.model.codes import Code


class Part(Code):
    """A part of the attribution; its name is class and part."""

    KERNEL_COMPUTE = 0
    """The device runs a kernel; where work overlaps, compute counts before communication before copies."""
    KERNEL_COMMUNICATION = 1
    """Only communication kernels run, waiting for other ranks included."""
    KERNEL_COPY = 2
    """Only copies and memsets run."""
    DISPATCH_FRAMEWORK = 3
    """Operators, optimizers or autograd run on the launching thread and have not launched the next work."""
    DISPATCH_PYTHON = 4
    """No operator runs: Python, and all that the profiler does not see."""
    DISPATCH_COMPILER = 5
    """Guards, wrappers and other host work of compiled code, or a compilation."""
    DISPATCH_INPUT = 6
    """A data loader, or what fetches batches."""
    DISPATCH_ALLOCATOR = 7
    """The driver allocates or frees memory."""
    LAUNCH_API = 8
    """The launch call itself."""
    LAUNCH_LATENCY = 9
    """The call has returned and the work is on its way to the idle device, for at most 100 us."""
    LAUNCH_GRAPH = 10
    """Both, for the launch of a CUDA Graph."""
    LAUNCH_LOADING = 11
    """A call that loads a kernel at its first use: a launch of 1 ms or more, or a module load."""
    SYNC_WAIT = 12
    """The launching thread still waits for a device that has nothing left to run."""
    SYNC_REFILL = 13
    """Dispatch that a wait left to do by draining the queue, at most as long as the wait overlapped a busy device.
    No measurement checks it."""
    DEVICE_SPACING = 14
    """The next work was launched before the gap began, which lasts up to 20 us."""
    DEVICE_DEPENDENCY = 15
    """The next work was launched before the gap began, which lasts longer: another stream or an event is waited for,
    or what ran meanwhile is not in the trace."""
    DEVICE_IN_GRAPH = 16
    """From one node of a graph launch to the next."""
    UNKNOWN_UNLINKED = 17
    """The work that ends the gap has no launch record."""
    UNKNOWN_STALLED = 18
    """Launched, but not started for longer than latency explains."""
    UNKNOWN_PROFILER = 19
    """The profiler's own work."""
    UNKNOWN_OUTSIDE = 20
    """After the last device event."""

    @property
    def class_name(self) -> str:
        """One of CLASSES."""
        return self.name.lower().partition("_")[0]

    @property
    def part_name(self) -> str:
        """The part within its class, as the report document names it: in_graph."""
        return self.name.lower().partition("_")[2]

    @property
    def full_name(self) -> str:
        """Class and part: device.in_graph."""
        return f"{self.class_name}.{self.part_name}"


CLASSES = ("kernel", "dispatch", "launch", "sync", "device", "unknown")
