"""`python -m tests.validation table` writes tests/data/validation.md; `split` writes tests/data/split.md: how much of
the fit holds on steps that the constants have not seen; `keep RUN_DIR...` keeps measured runs."""

from __future__ import annotations

import argparse
from pathlib import Path

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.validation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table", help="write tests/data/validation.md")
    commands.add_parser("split", help="write tests/data/split.md")
    commands.add_parser("keep", help="keep measured runs").add_argument("run", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "keep":
        from tests.validation.keep import keep

        for folder in given.run:
            keep(folder)
    elif given.command == "split":
        from tests.validation.split import write_split

        write_split()
    else:
        from tests.validation.table import write_table

        write_table()
