"""`python -m tests.validation table` writes tests/data/validation.md; `split` writes tests/data/split.md: how much of
the fit holds on steps that the constants have not seen; `keep RUN_DIR...` keeps measured runs."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    if sys.argv[1] == "keep":
        from tests.validation.keep import keep

        for folder in sys.argv[2:]:
            keep(Path(folder))
    elif sys.argv[1] == "split":
        from tests.validation.split import write_split

        write_split()
    else:
        from tests.validation.table import write_table

        write_table()
