"""The machine and the versions that a run was measured on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from typing import Any, cast

from capture.ranks import this_rank


def describe() -> dict[str, Any]:
    """Return versions and device names as they stand in the manifest; None for torch's if it was never imported."""
    torch = cast(Any, sys.modules.get("torch"))
    cuda = bool(torch and torch.cuda.is_available())
    rank = this_rank()
    return {
        "torch": torch.__version__ if torch else None,
        "cuda": torch.version.cuda if torch else None,
        "hip": torch.version.hip if torch else None,
        "driver": _driver() if cuda else None,
        "gpu": torch.cuda.get_device_name() if cuda else None,
        "python": platform.python_version(),
        "host": platform.node(),
        "cpu": platform.machine(),
        "cpu_threads": torch.get_num_threads() if torch else os.cpu_count(),
        **({"rank": rank.number, "world_size": rank.of} if rank else {}),
    }


@cache
def _driver() -> str | None:
    """Return the driver's version, None where nvidia-smi cannot say."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return text.split("\n")[0].strip() or None
