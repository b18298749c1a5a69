"""The machine and the versions that a run was measured on."""

from __future__ import annotations

import platform
from typing import Any

import torch

from capture import torch_private


def describe() -> dict[str, Any]:
    """Return versions and device names as they stand in the manifest."""
    cuda = torch.cuda.is_available()
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "driver": torch_private.driver_version() if cuda else None,
        "gpu": torch.cuda.get_device_name() if cuda else None,
        "python": platform.python_version(),
        "host": platform.node(),
        "cpu": platform.machine(),
        "cpu_threads": torch.get_num_threads(),
    }
