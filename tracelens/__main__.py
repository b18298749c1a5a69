"""python -m tracelens, and the command tracelens."""

from __future__ import annotations

import sys

from tracelens.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
