"""`python -m tests.validation table` writes tests/data/validation.md; `keep RUN_DIR...` keeps measured runs there."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    if sys.argv[1] == "keep":
        from tests.validation.keep import keep

        for folder in sys.argv[2:]:
            keep(Path(folder))
    else:
        from tests.validation.table import write_table

        write_table()
