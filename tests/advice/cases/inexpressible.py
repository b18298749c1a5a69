"""Reports that no trace of one process can show."""

from __future__ import annotations

from typing import Final

INEXPRESSIBLE: Final = {
    "NVlabs/alpamayo1.5#36": "How much a faster step helps depends on the other processes of the pipeline: 31 % less "
    "latency made 0.6 % or 56 % more throughput. A trace holds one process.",
    "pytorch/pytorch#191284": "Copy nodes of a graph run at half speed on one device for sizes that are no multiple of "
    "4,096: an eager trace shows neither the nodes nor the device's fault, and a replayed one shows them as they are.",
    "pytorch/pytorch#95944": "A hang: the operator never ends, so the profiler writes no trace.",
}
"""Report -> why."""
