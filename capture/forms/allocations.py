"""Memory that a capture asks for: a graph keeps it, and replays into it, as long as it lives."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

from capture.records import FormRecord


class Allocations:
    """Counts the allocator's requests and reserved bytes over all captures of a form."""

    def __init__(self) -> None:
        self.requests, self.reserved_bytes = 0, 0

    @contextmanager
    def counted(self) -> Generator[None]:
        """Count what happens within the block."""
        before = _totals()
        yield
        after = _totals()
        self.requests += after[0] - before[0]
        self.reserved_bytes += after[1] - before[1]

    def report(self, record: FormRecord) -> None:
        """Write the totals; unknown stays unknown where the allocator counts nothing."""
        if self.requests:
            record.capture_allocations = self.requests
            record.graph_mib = self.reserved_bytes / 2**20


def _totals() -> tuple[int, int]:
    """Return requests so far and bytes reserved now."""
    stats: dict[str, Any] = torch.cuda.memory_stats()
    return stats.get("allocation.all.allocated", 0), stats.get("reserved_bytes.all.current", 0)
