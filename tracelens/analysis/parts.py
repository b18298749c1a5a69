"""The classes and parts that every nanosecond of a window falls into."""

from __future__ import annotations

from enum import IntEnum


class Part(IntEnum):
    """A part of the attribution; its name is class and part."""

    KERNEL_COMPUTE = 0
    KERNEL_COMMUNICATION = 1
    KERNEL_COPY = 2
    DISPATCH_FRAMEWORK = 3
    DISPATCH_PYTHON = 4
    DISPATCH_COMPILER = 5
    DISPATCH_INPUT = 6
    DISPATCH_ALLOCATOR = 7
    LAUNCH_API = 8
    LAUNCH_LATENCY = 9
    LAUNCH_GRAPH = 10
    LAUNCH_LOADING = 11
    SYNC_WAIT = 12
    SYNC_REFILL = 13
    DEVICE_SPACING = 14
    DEVICE_DEPENDENCY = 15
    DEVICE_IN_GRAPH = 16
    UNKNOWN_UNLINKED = 17
    UNKNOWN_STALLED = 18
    UNKNOWN_PROFILER = 19
    UNKNOWN_OUTSIDE = 20

    @property
    def class_name(self) -> str:
        """One of CLASSES."""
        return self.name.lower().partition("_")[0]

    @property
    def part_name(self) -> str:
        """The part within its class, as the report document names it: in_graph."""
        return self.name.lower().partition("_")[2]


CLASSES = ("kernel", "dispatch", "launch", "sync", "device", "unknown")
