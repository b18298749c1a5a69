"""`python -m tests.validation keep RUN_DIR...` keeps measured runs of the workloads under tests/data."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.validation.keep import keep

if __name__ == "__main__":
    for folder in sys.argv[2:]:
        keep(Path(folder))
